"""`turnetl export --json` and `turnetl import --json`."""

from typing import Annotated

from turnetl.base.object_url import path_text
from turnetl.base.results import JsonOutput, described
from turnetl.json_output import fields
from turnetl.transfer.report import ExportFormat, ExportReport, ImportOutcome, ImportReport


class ExportOutput(JsonOutput):
    """What an export wrote."""

    format: Annotated[ExportFormat, described("The format.")]
    output: Annotated[str, described("Path of the file or the folder.")]
    turns: Annotated[int, described("Turns in the export.")]
    sessions: Annotated[int, described("Their sessions.")]
    entities: Annotated[int, described("Entities in the export.")]
    facts: Annotated[int, described("Facts in the export.")]
    noise: Annotated[
        int,
        described("Selected turns that are noise; `markdown`, `graphml` and `cypher` omit them."),
    ]
    redactions: Annotated[int, described("Redactions of what the lake or the graph still had.")]
    files: Annotated[int, described("Files of the export.")]
    bytes: Annotated[int, described("Their size.")]
    changed: Annotated[int, described("Files that were written: they were missing or different.")]
    removed: Annotated[int, described("Files of an earlier export that were removed.")]
    only_in_graph: Annotated[
        int, described("Selected turns that only the graph holds: they are left out.")
    ]
    subagents_left_out: Annotated[
        int,
        described(
            "Subagents whose tokens `parquet` leaves out: it is not known whether a selected turn "
            "started them."
        ),
    ]
    unread: Annotated[
        str | None,
        described("Why entities and facts are missing or old; null: they are those of the graph."),
    ]


def export_output(report: ExportReport) -> ExportOutput:
    return ExportOutput(
        format=report.format,
        output=path_text(report.output),
        turns=report.turns,
        sessions=report.sessions,
        entities=report.entities,
        facts=report.facts,
        noise=report.noise,
        redactions=report.redactions,
        files=report.files,
        bytes=report.bytes,
        changed=report.changed,
        removed=report.removed,
        only_in_graph=report.only_in_graph,
        subagents_left_out=report.subagents_left_out,
        unread=report.unread,
    )


class ImportedFileOutput(JsonOutput):
    """A turns file of the other lake."""

    archive: Annotated[
        str, described("The archive of its turns, after the name of the machine and a colon.")
    ]
    group: fields.GroupField
    outcome: Annotated[ImportOutcome, described("`damaged`: it cannot be read and was left out.")]
    turns: Annotated[int, described("Turns of the archive that the lake holds now.")]
    added: Annotated[int, described("How many more that are than before.")]
    redactions: Annotated[int, described("Redactions of what the other lake still had.")]
    forgotten: Annotated[
        int, described("Turns that were left out, because this lake has forgotten them.")
    ]
    problem: Annotated[str | None, described("Why it was left out; null if it was not.")]


class ImportOutput(JsonOutput):
    """What an import added to the lake, or would add."""

    source: Annotated[str, described("Folder of the other lake.")]
    machine: Annotated[str, described("Name of the other machine.")]
    dry_run: Annotated[bool, described("Whether nothing was written.")]
    added: Annotated[
        int, described("Turns added, with those that other archives of the lake hold too.")
    ]
    forgotten: Annotated[
        int, described("Turns that were left out, because this lake has forgotten them.")
    ]
    outcomes: Annotated[
        dict[ImportOutcome, int], described("Turns files by outcome.", keys=ImportOutcome)
    ]
    foreign: Annotated[int, described("Files that turnetl did not write; they are ignored.")]
    files: Annotated[list[ImportedFileOutput], described("The turns files, by path.")]


def import_output(report: ImportReport) -> ImportOutput:
    outcomes = [file.outcome for file in report.files]
    return ImportOutput(
        source=path_text(report.source),
        machine=report.machine,
        dry_run=report.dry_run,
        added=report.added,
        forgotten=report.forgotten,
        outcomes={outcome: outcomes.count(outcome) for outcome in ImportOutcome},
        foreign=report.foreign,
        files=[
            ImportedFileOutput(
                archive=file.archive,
                group=file.group,
                outcome=file.outcome,
                turns=file.turns,
                added=file.added,
                redactions=file.redactions,
                forgotten=file.forgotten,
                problem=file.problem,
            )
            for file in report.files
        ],
    )
