"""Remove forgotten turns from the tables of a lake. Every step may be repeated after a kill."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import polars as pl

from turnetl import ids
from turnetl.formats.base import ParseCounts
from turnetl.lake import ArchiveMetadata, Lake
from turnetl.lake.forgotten import ForgottenTurns
from turnetl.model import GroupId, SessionId, TurnId
from turnetl.parsing.forgotten_turns import counted_forgotten

_KEYS = ("turn_id", "session_id")


def remove_forgotten_turns(lake: Lake, forgotten: ForgottenTurns) -> list[GroupId]:
    """Rewrite the turns files that hold forgotten turns without them.

    A file stays, even without rows: it says that its archive was read.

    Returns:
        The groups of which a file was rewritten, sorted.

    Raises:
        TableUnusable: a turns file is damaged.
        Fatal: a file cannot be written.
    """
    changed = set[GroupId]()
    for file in lake.turn_files():
        rows = lake.read_turns_file(file.path)
        included = _included(rows, forgotten)
        if any(included):
            kept, metadata = _without(rows, included, file.metadata)
            lake.write_turns(kept, metadata, digest=file.path.stem, previous_files=())
            changed.add(file.metadata.group)
    lake.sync_turns()
    return sorted(changed)


def delete_stale_episodes(
    lake: Lake, forgotten: ForgottenTurns, changed: Iterable[GroupId]
) -> list[GroupId]:
    """Delete the episodes tables that hold forgotten turns or are of a changed group.

    The next filter builds them again.

    Returns:
        The groups without their table, sorted.
    """
    groups = set(changed)
    for group in lake.groups():
        with lake.reading_episodes(group):
            rows = lake.scan_episodes(group).select(_KEYS).collect()
        if any(_included(rows, forgotten)):
            groups.add(group)
    for group in groups:
        lake.delete_episodes(group)
    return sorted(groups)


def turns_with(lake: Lake, condition: pl.Expr) -> pl.DataFrame:
    """Return the rows of all turns files that meet a condition, with all columns.

    Raises:
        TableUnusable: a turns file is damaged.
    """
    found = [
        rows
        for group in lake.groups()
        for batch in lake.turn_batches(group)
        if not (rows := batch.read().filter(condition)).is_empty()
    ]
    return pl.concat(found) if found else pl.DataFrame()


def listed_turns(lake: Lake, forgotten: ForgottenTurns) -> pl.DataFrame:
    """Return the rows of all turns files that are forgotten and not removed yet."""
    found = []
    for path in lake.turn_paths() if forgotten else ():
        rows = lake.read_turns_file(path)
        found.append(rows.filter(pl.Series(_included(rows, forgotten), dtype=pl.Boolean)))
    return pl.concat(found) if found else pl.DataFrame()


def _included(rows: pl.DataFrame, forgotten: ForgottenTurns) -> list[bool]:
    keys = zip(rows["turn_id"], rows["session_id"], strict=True)
    return forgotten.included((TurnId(turn), SessionId(session)) for turn, session in keys)


def _without(
    rows: pl.DataFrame, included: Sequence[bool], metadata: ArchiveMetadata
) -> tuple[pl.DataFrame, ArchiveMetadata]:
    """Return the other rows, and the metadata that a parse of the archive would write now."""
    # The retained turns are the last rows of the file.
    first_retained = rows.height - metadata.retained_turns
    kept = rows.filter(~pl.Series(included, dtype=pl.Boolean))
    retained = [
        turn
        for turn, is_included in zip(
            rows["turn_id"][first_retained:], included[first_retained:], strict=True
        )
        if not is_included
    ]
    counts = counted_forgotten(
        ParseCounts.from_mapping(metadata.counts), sum(included[:first_retained])
    )
    return kept, replace(
        metadata,
        counts=counts.as_mapping(),
        retained_turns=len(retained),
        retained_digest=ids.digest(*retained) if retained else "",
    )
