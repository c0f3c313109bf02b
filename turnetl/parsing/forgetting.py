"""Remove forgotten turns from the tables of a lake. Every step may be repeated after a kill."""

from collections.abc import Iterable
from dataclasses import replace

import polars as pl

from turnetl.base import ids
from turnetl.base.model import GroupId
from turnetl.formats.base import ParseCounts
from turnetl.lake import ArchiveMetadata, Lake
from turnetl.lake.forgotten import ForgottenTurns
from turnetl.parsing.forgotten_turns import counted_forgotten, is_forgotten

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
        included = is_forgotten(rows, forgotten)
        if included.any():
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
        The groups without their table, sorted: also those of which an interrupted call deleted it.
    """
    groups = set(changed)
    for group in lake.groups():
        if group in forgotten.groups and lake.episodes_metadata(group) is None:
            groups.add(group)
        with lake.reading_episodes(group):
            rows = lake.scan_episodes(group).select(_KEYS).collect()
        if is_forgotten(rows, forgotten).any():
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
        found.append(rows.filter(is_forgotten(rows, forgotten)))
    return pl.concat(found) if found else pl.DataFrame()


def _without(
    rows: pl.DataFrame, included: pl.Series, metadata: ArchiveMetadata
) -> tuple[pl.DataFrame, ArchiveMetadata]:
    """Return the other rows, and the metadata that a parse of the archive would write now."""
    # The retained turns are the last rows of the file.
    first_retained = rows.height - metadata.retained_turns
    retained = rows["turn_id"][first_retained:].filter(~included[first_retained:])
    counts = counted_forgotten(
        ParseCounts.from_mapping(metadata.counts), int(included[:first_retained].sum())
    )
    return rows.filter(~included), replace(
        metadata,
        counts=counts.as_mapping(),
        retained_turns=len(retained),
        retained_digest="" if retained.is_empty() else ids.digest(*retained),
    )
