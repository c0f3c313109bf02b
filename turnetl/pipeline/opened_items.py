"""Open turns, sessions, entities and facts, by id or name."""

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Generic, Literal, TypeVar

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import BadArchive, BadUsage, Fatal
from turnetl.base.graph_model import Receipt
from turnetl.base.model import Turn
from turnetl.base.object_url import path_text
from turnetl.base.progress import Progress, ignore_progress
from turnetl.base.reason import SkipReason
from turnetl.base.result_fields import CaughtUpAtField, UnreadField
from turnetl.base.results import INLINED, described
from turnetl.episode_text.conversation import from_turn
from turnetl.index.persistent import PersistentIndex
from turnetl.parsing.archive_lines import read_archive_lines, redact_lines, texts_of_archive
from turnetl.parsing.archive_paths import StandsFor, archive_machine, find_archive
from turnetl.pipeline.index import OpenIndex, check_graph, current_index, warn_of_empty_graph
from turnetl.retrieval.details import Details, FactDetails, TurnDetails, details
from turnetl.retrieval.items import archive_line
from turnetl.settings import Settings

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class IndexAnswer(Generic[T]):
    """A value read from the index, and the age of the index."""

    value: Annotated[T, INLINED]
    caught_up_at: CaughtUpAtField
    unread: UnreadField


@dataclass(frozen=True, slots=True)
class ArchiveLines:
    """The lines of a turn in its archive, printed with `--raw`."""

    receipt: Annotated[Receipt, INLINED]
    lines: Annotated[Sequence[str], described("The lines.")]
    redacted: Annotated[bool, described("Whether secrets were removed.")]

    @property
    def kind(self) -> Annotated[Literal["lines"], described("What is printed.")]:
        return "lines"


async def show(
    text: str,
    settings: Settings,
    clock: Clock,
    *,
    directory: Path,
    limit: int,
    progress: Progress = ignore_progress,
) -> IndexAnswer[Details]:
    """Return the turn, session, entity or fact with this id or name.

    The text of a turn is that of the lake; without the lake's table, that of the graph.
    """
    found = await read_index(
        lambda index: open_item(index, text, directory, settings, limit=limit),
        settings,
        clock,
        progress,
    )
    return replace(found, value=with_lake_text(found.value, settings))


def open_item(
    index: PersistentIndex, text: str, directory: Path, settings: Settings, *, limit: int
) -> Details:
    """Return `details`; the lake says to which turn a line of a subagent's archive belongs."""

    def turns_of_subagent(archive: str, line: int) -> set[str]:
        from turnetl.episodes.subagents import turns_at  # noqa: PLC0415 - imports polars

        return turns_at(wiring.lake(settings), archive, line)

    return details(index, text, directory, limit=limit, turns_at=turns_of_subagent)


def with_lake_text(found: Details, settings: Settings) -> Details:
    """Return the details of a turn with its text as the lake has it; others as they are."""
    if isinstance(found, TurnDetails):
        turn = _lake_turn(settings, found.summary.receipt)
        if turn is not None:
            return replace(found, conversation=from_turn(turn))
    return found


async def show_archive_lines(
    text: str,
    settings: Settings,
    clock: Clock,
    *,
    directory: Path,
    redacted: bool = True,
    progress: Progress = ignore_progress,
) -> ArchiveLines:
    """Return the lines of a turn, or the line of a subagent's step, as the archive has them.

    Raises:
        BadUsage: the text leads neither to one turn nor to a fact from such a step.
        BadArchive: the archive is missing or cannot be read.
    """
    found = await read_index(
        lambda index: archived_turn(index, text, directory, settings), settings, clock, progress
    )
    return archive_lines(found.value, settings, redacted=redacted)


def archived_turn(
    index: PersistentIndex, text: str, directory: Path, settings: Settings
) -> Receipt:
    """Return the receipt of a turn, which says where its lines are.

    That of a fact from a step of a subagent, or of a line of its archive, says where that is. A
    path that starts with a dot is relative to the directory. Raises `BadUsage` without such a turn
    or fact.
    """
    match open_item(index, text, directory, settings, limit=1):
        case TurnDetails() as found:
            receipt = found.summary.receipt
            if (place := archive_line(text)) is None:
                return receipt
            turn = _lake_turn(settings, receipt)
            archives = {run.archive for run in turn.subagents} if turn is not None else set()
            named = [one for one in archives if f"/{one}".endswith(f"/{place[0]}")]
            # In the archive of the turn itself, its rows surround those of its subagents.
            is_own = f"/{receipt.archive}".endswith(f"/{place[0]}")
            return receipt if is_own or not named else _at_line(receipt, min(named), place[1])
        case FactDetails() as found if (step := found.indexed.fact.step) and found.turns:
            return _at_line(found.turns[-1].receipt, step.archive, step.line)
        case _:
            raise BadUsage(
                f"`{text}` is no turn: only turns, and facts from steps of subagents, have lines "
                "in an archive"
            )


def _at_line(receipt: Receipt, archive: str, line: int) -> Receipt:
    return replace(receipt, archive=archive, first_line=line, last_line=line)


def archive_lines(receipt: Receipt, settings: Settings, *, redacted: bool = True) -> ArchiveLines:
    """Return the lines of a turn as its archive has them, without secrets if `redacted`."""
    redactor = wiring.redactor(settings, stores=False)
    lines, texts = _archive_lines(receipt, redactor.stands_for, with_texts=redacted)
    shown = redact_lines(lines, redactor, texts) if redacted else lines
    return ArchiveLines(receipt, shown, redacted)


async def read_index(
    read: Callable[[PersistentIndex], T], settings: Settings, clock: Clock, progress: Progress
) -> IndexAnswer[T]:
    async with open_index(settings, clock, progress) as opened:
        return IndexAnswer(read(opened.index), opened.index.caught_up_at, opened.unread)


@asynccontextmanager
async def open_index(
    settings: Settings, clock: Clock, progress: Progress
) -> AsyncIterator[OpenIndex]:
    """Open the index of a graph that exists, brought up to date; an empty one is a warning."""
    check_graph(settings)
    async with current_index(settings, clock, progress) as opened:
        if not opened.index.groups():
            warn_of_empty_graph()
        yield opened


def _archive_lines(
    receipt: Receipt, stands_for: StandsFor, *, with_texts: bool
) -> tuple[list[str], list[str]]:
    """Return the lines of a turn, and all texts of its archive if they are asked for.

    An error names the archive as the receipt does.
    """
    if (machine := archive_machine(receipt.archive)) is not None:
        raise BadArchive(
            SkipReason.MISSING,
            f"`{receipt.archive}` is an archive of the machine `{machine}`, from which the turn "
            "was imported: read its lines there",
        )
    files = wiring.archive_files()
    path = find_archive(receipt.archive, stands_for, files)
    try:
        lines = read_archive_lines(path, receipt.first_line, receipt.last_line, files)
        return lines, texts_of_archive(path, files) if with_texts else []
    except BadArchive as error:
        message = str(error).replace(path_text(path), receipt.archive)
        raise BadArchive(error.reason, message) from None


def _lake_turn(settings: Settings, receipt: Receipt) -> Turn | None:
    try:
        episodes = wiring.lake(settings).episodes(receipt.group_id, [receipt.turn_id])
        return next((episode.turn for episode in episodes), None)
    except Fatal as error:
        log.warning("%s; the turn is shown as the graph has it", error)
        return None
