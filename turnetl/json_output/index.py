"""`turnetl index --json`, and what `turnetl status --json` says about the index."""

from typing import Annotated

from turnetl.index.port import IndexReport, IndexStatus
from turnetl.json_output.base import JsonOutput, Timestamp, described, timestamp


class IndexedGroupOutput(JsonOutput):
    """A group in the search index."""

    group: Annotated[str, described("Id of the group.")]
    turns: Annotated[int, described("Turns in the index.")]


class IndexStatusOutput(JsonOutput):
    """The search index of a graph."""

    index: Annotated[str, described("Path of the index.")]
    turns: Annotated[int, described("Turns in the index.")]
    turns_behind: Annotated[
        int | None,
        described(
            "Commits in the graph that the index has not read; null if the graph was not read."
        ),
    ]
    passages: Annotated[int, described("Passages with a vector.")]
    bytes: Annotated[int, described("Size on disk.")]
    embedder: Annotated[str, described("Embedder of the passages.")]
    caught_up_at: Annotated[
        Timestamp | None,
        described("When the index last held the whole graph; null if it never did."),
    ]
    groups: Annotated[list[IndexedGroupOutput], described("The groups, sorted by name.")]


class IndexOutput(IndexStatusOutput):
    """What a run of `turnetl index` changed, and the index afterwards."""

    added: Annotated[int, described("Turns read from the graph.")]
    removed: Annotated[int, described("Turns removed because they left the graph.")]


def index_output(report: IndexReport) -> IndexOutput:
    status = index_status_output(report.status)
    values = {name: getattr(status, name) for name in status.__struct_fields__}
    return IndexOutput(**values, added=report.changes.added, removed=report.changes.removed)


def index_status_output(status: IndexStatus) -> IndexStatusOutput:
    return IndexStatusOutput(
        index=str(status.path),
        turns=status.turns,
        turns_behind=status.turns_behind,
        passages=status.passages,
        bytes=status.bytes,
        embedder=status.embedder,
        caught_up_at=timestamp(status.caught_up_at),
        groups=[
            IndexedGroupOutput(group=group.group_id, turns=group.turns) for group in status.groups
        ],
    )
