"""`turnetl sources --json`."""

from typing import Annotated

from turnetl.agents import ArchiveState, FoundArchive, Source, SourcesReport
from turnetl.base.object_url import path_text
from turnetl.base.result_schema import Timestamp
from turnetl.base.results import JsonOutput, described
from turnetl.base.skip_reasons import SkipReason
from turnetl.json_output.base import timestamp


class SourceArchiveOutput(JsonOutput):
    """An archive of an agent."""

    path: Annotated[str, described("Its path.")]
    state: Annotated[
        ArchiveState,
        described(
            "`new`: the lake lacks it; `changed`: it was written to since it was parsed; "
            "`unknown_format`: a backfill skips it."
        ),
    ]
    bytes: Annotated[int, described("Its size.")]
    new_turns: Annotated[
        int | None,
        described(
            "Turns that the lake lacks, with those that other archives repeat; null if they were "
            "not counted."
        ),
    ]
    deleted_at: Annotated[
        Timestamp | None,
        described(
            "From this time on, the agent deletes it when it starts; null if it does not delete it."
        ),
    ]


class AgentSourceOutput(JsonOutput):
    """A folder of an agent."""

    agent: Annotated[str, described("Name of the agent.")]
    folder: Annotated[str, described("Path of its folder.")]
    variable: Annotated[
        str | None,
        described("The environment variable that names the folder; null if it is the default."),
    ]
    exists: Annotated[bool, described("Whether the folder exists.")]
    paths: Annotated[list[str], described("What `turnetl backfill` takes for all of its archives.")]
    new_archives: Annotated[int, described("Archives that the lake lacks.")]
    changed_archives: Annotated[
        int, described("Archives that were written to since they were parsed.")
    ]
    new_turns: Annotated[
        int | None,
        described("Turns in these archives that the lake lacks; null if not all were counted."),
    ]
    kept_days: Annotated[
        float | None,
        described(
            "Days after its last change for which the agent keeps an archive; null: forever."
        ),
    ]
    kept_by: Annotated[
        str | None,
        described("The settings file that says so; null if it is the agent's default."),
    ]
    archives: Annotated[list[SourceArchiveOutput], described("Its archives, sorted by path.")]
    problems: Annotated[
        list[str], described("A sentence for each part of the folder that cannot be read.")
    ]
    other_files: Annotated[
        dict[SkipReason, int],
        described("Files beside its archives that are none, by reason.", keys=SkipReason),
    ]


class SourcesOutput(JsonOutput):
    """Where the agents of this machine keep archives, compared with the lake."""

    sources: Annotated[
        list[AgentSourceOutput],
        described("The folders of all agents, also those that are missing."),
    ]


def sources_output(report: SourcesReport) -> SourcesOutput:
    return SourcesOutput([_source(source) for source in report.sources])


def _source(source: Source) -> AgentSourceOutput:
    states = [archive.state for archive in source.archives]
    kept, setting = source.retention.period, source.retention.setting
    return AgentSourceOutput(
        agent=source.agent,
        folder=path_text(source.folder),
        variable=source.variable or None,
        exists=source.exists,
        paths=list(source.paths),
        new_archives=states.count(ArchiveState.NEW),
        changed_archives=states.count(ArchiveState.CHANGED),
        new_turns=source.new_turns,
        kept_days=None if kept is None else kept.total_seconds() / 86_400,
        kept_by=None if setting is None else path_text(setting),
        archives=[_archive(archive) for archive in source.archives],
        problems=list(source.problems),
        other_files=dict(source.other_files),
    )


def _archive(archive: FoundArchive) -> SourceArchiveOutput:
    return SourceArchiveOutput(
        path=path_text(archive.path),
        state=archive.state,
        bytes=archive.size,
        new_turns=archive.new_turns,
        deleted_at=timestamp(archive.deleted_at),
    )
