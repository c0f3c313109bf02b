"""Attribution of a file, or of a line of it, to turns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Annotated

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import Fatal
from turnetl.base.graph_model import Receipt
from turnetl.base.model import GroupId, TurnId
from turnetl.base.progress import Progress, ignore_progress
from turnetl.base.results import INLINED, described
from turnetl.episode_text.conversation import Conversation, from_turn
from turnetl.index.lookup import LookupIndex
from turnetl.parsing.archive_edits import archived_edits
from turnetl.pipeline.git import FileInRepository, blame, file_in_repository, previous_change
from turnetl.pipeline.opened_items import IndexAnswer, log, read_index
from turnetl.retrieval.why import Attribution, EditSources, attribute
from turnetl.settings import Settings


@dataclass(frozen=True, slots=True)
class FileAuthorship:
    """The turns that wrote a file, or a line of it."""

    file: Annotated[FileInRepository, INLINED]
    line: Annotated[int | None, described("The line; null for all lines.")]
    attributions: Annotated[
        Sequence[Attribution], described("The newest commits first.", name="commits")
    ]
    count: Annotated[int, described("Commits that the lines come from.")]


async def why(
    path: Path,
    line: int | None,
    settings: Settings,
    clock: Clock,
    *,
    limit: int,
    progress: Progress = ignore_progress,
) -> IndexAnswer[FileAuthorship]:
    """Return which turns wrote the lines of a file, by its commits.

    Args:
        path: a file in a git repository.
        line: only this line, from 1; None: all lines.
        settings: the graph, its index and the lake.
        clock: returns the current time.
        limit: at most this many commits, the newest.
        progress: called while the index is brought up to date.

    Raises:
        BadUsage: there is no such file, or git does not know it or the line.
        Fatal: there is no `git`.
        GraphUnusable: there is no graph, or it cannot be opened.
        IndexUnusable: the index cannot be used.
    """
    file = file_in_repository(path)
    commits = blame(file, line)
    dated = [(commit, previous_change(file, commit)) for commit in commits[:limit]]

    def read(index: LookupIndex) -> FileAuthorship:
        sources = _edit_sources(settings)
        found = attribute(index, dated, str(file.root), sources, by_line=line is not None)
        return FileAuthorship(file, line, found, len(commits))

    return await read_index(read, settings, clock, progress)


def _edit_sources(settings: Settings) -> EditSources:
    redactor = wiring.redactor(settings, stores=False)
    # Turns may have been parsed with or without personal data, whatever the settings say now.
    opposite = settings.model_copy(update={"redact_pii": not settings.redact_pii})
    other = wiring.redactor(opposite, stores=False)
    return EditSources(
        archives=lambda receipts: archived_edits(
            receipts, (redactor, other), redactor.stands_for, wiring.archive_files()
        ),
        conversations=lambda receipts: _conversations(settings, receipts),
        redact=lambda texts: redactor.redact_many([list(texts)])[0].texts,
    )


def _conversations(
    settings: Settings, receipts: Sequence[Receipt]
) -> Mapping[TurnId, Conversation]:
    """Return the conversations of those turns that the lake holds."""
    lake, found = wiring.lake(settings), {}
    by_group = sorted(receipts, key=_group)
    for group, of_group in groupby(by_group, key=_group):
        turns = [receipt.turn_id for receipt in of_group]
        try:
            for episode in lake.episodes(group, turns):
                found[episode.turn_id] = from_turn(episode.turn)
        except Fatal as error:
            log.warning("%s; the edits are read from the graph", error)
    return found


def _group(receipt: Receipt) -> GroupId:
    return receipt.group_id
