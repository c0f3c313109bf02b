"""`turnetl forget --json`."""

from typing import Annotated

from turnetl.base.results import JsonOutput, described
from turnetl.ingestion.forget_report import ForgetReport
from turnetl.json_output import fields
from turnetl.json_output.undo import UndoOutput, undo_output
from turnetl.lake import path_text


class ForgottenTurnOutput(JsonOutput):
    """A turn to forget, and where its archive still holds it."""

    turn_id: fields.TurnIdField
    group: fields.GroupField
    session_id: fields.SessionIdField
    archive: Annotated[str, described("Absolute path of the archive, which is never changed.")]
    first_line: Annotated[int, described("First line of the turn in it, from 1.")]
    last_line: Annotated[int, described("Last line of the turn in it.")]


class FoundTextOutput(JsonOutput):
    """A place that still holds what was to be forgotten."""

    path: Annotated[str, described("The file; `graph` for the values of the graph.")]
    place: Annotated[str, described("Where in it.")]


class ForgetOutput(JsonOutput):
    """What `forget` removes; `begun` says whether it was carried out."""

    turns: Annotated[
        list[ForgottenTurnOutput], described("The turns to forget, by archive and line.")
    ]
    sessions: Annotated[int, described("Number of their sessions.")]
    damaged_tables: Annotated[
        list[str],
        described("Damaged turns files that were kept, which may hold the turns: deleted too."),
    ]
    graph: Annotated[UndoOutput, described("What leaves the graph.")]
    resumed: Annotated[
        bool, described("Whether turns of a removal that was interrupted are among them.")
    ]
    refused: Annotated[
        bool, described("Whether nothing may be removed because later turns built on them.")
    ]
    begun: Annotated[bool, described("Whether anything was written.")]
    responses_erased: Annotated[int, described("Responses removed from the journal.")]
    quarantined: Annotated[int, described("Quarantine entries that were removed.")]
    samples: Annotated[
        int, described("Texts of the turns that no other turn holds, searched for afterwards.")
    ]
    files_searched: Annotated[int, described("Files that were searched afterwards.")]
    found: Annotated[list[FoundTextOutput], described("Places that still hold it.")]
    proven: Annotated[
        bool, described("Whether everything was removed and searched, and nothing was found.")
    ]
    summarised_in: Annotated[
        list[str],
        described(
            "Groups whose session-level data, which stays, is of these sessions too: that of "
            "migrations that are not finished."
        ),
    ]
    graph_server: Annotated[
        str | None,
        described("Address of a graph on a server, whose files are not searched; else null."),
    ]


def forget_output(report: ForgetReport) -> ForgetOutput:
    return ForgetOutput(
        turns=[
            ForgottenTurnOutput(
                turn.turn_id,
                turn.group,
                turn.session_id,
                turn.archive,
                turn.first_line,
                turn.last_line,
            )
            for turn in report.turns
        ],
        sessions=report.sessions,
        damaged_tables=list(map(path_text, report.damaged_tables)),
        graph=undo_output(report.undo),
        resumed=report.is_resumed,
        refused=report.is_refused,
        begun=report.is_begun,
        responses_erased=report.responses_erased,
        quarantined=report.quarantined,
        samples=len(report.samples),
        files_searched=report.files_searched,
        found=[FoundTextOutput(found.path, found.place) for found in report.found],
        proven=report.is_proven,
        summarised_in=list(report.summarised),
        graph_server=report.graph_server,
    )
