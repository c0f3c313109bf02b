"""Remove forgotten turns from the tables of a lake, in steps that may be repeated after a kill."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import polars as pl

from turnetl.base import ids
from turnetl.base.model import GroupId, SessionId, TurnId
from turnetl.base.reason import SkipReason
from turnetl.base.schema import IS_TURN
from turnetl.formats.port import ParseCounts
from turnetl.lake import ArchiveMetadata, Lake
from turnetl.lake.forgotten import ForgottenTurns
from turnetl.parsing.redaction import RedactedTurns

_KEYS = ("turn_id", "session_id")


def remove_forgotten_turns(lake: Lake, forgotten: ForgottenTurns) -> list[GroupId]:
    """Rewrite turns files without forgotten turns, perhaps without rows; return their groups."""
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

    The next filter builds them again. Returns the groups without their table, sorted: also those
    of which an interrupted call deleted it.
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
    """Return the turns and runs of all turns files that meet a condition, with all columns."""
    found = [
        rows
        for group in lake.groups()
        for batch in lake.row_batches(group)
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
    turns = rows.with_columns(included=included).filter(IS_TURN).select("turn_id", "included")
    # The retained turns are the last ones of the file.
    first_retained = turns.height - metadata.retained_turns
    retained = turns[first_retained:].filter(~pl.col("included"))["turn_id"]
    counts = counted_forgotten(
        ParseCounts.from_mapping(metadata.counts), int(turns["included"][:first_retained].sum())
    )
    return rows.filter(~included), replace(
        metadata,
        counts=counts.as_mapping(),
        retained_turns=len(retained),
        retained_digest="" if retained.is_empty() else ids.digest(*retained),
    )


def without_forgotten(
    turns: RedactedTurns, counts: ParseCounts, format_name: str, forgotten: ForgottenTurns
) -> tuple[RedactedTurns, ParseCounts]:
    """Return the turns that are not forgotten; the prompts' lines of others count as skipped."""
    if not forgotten:
        return turns, counts
    kept = [
        number
        for number, turn in enumerate(turns.turns)
        if not forgotten.includes_native(format_name, turn.native_id, turn.session_id)
    ]
    remaining = replace(
        turns,
        turns=[turns.turns[number] for number in kept],
        chars=[turns.chars[number] for number in kept],
        redactions=[turns.redactions[number] for number in kept],
    )
    before, after = (
        sum(one.subagent_type is None for one in rows) for rows in (turns.turns, remaining.turns)
    )
    return remaining, counted_forgotten(counts, before - after)


def counted_forgotten(counts: ParseCounts, turns: int) -> ParseCounts:
    """Return the counts of an archive after further turns of it are forgotten."""
    lines = min(turns, counts.used)
    skipped = counts.skipped + Counter({SkipReason.FORGOTTEN: lines})
    return replace(counts, turns=counts.turns - turns, used=counts.used - lines, skipped=skipped)


def rows_not_forgotten(rows: pl.DataFrame | None, forgotten: ForgottenTurns) -> pl.DataFrame | None:
    """Return the rows of `schema.TURNS` that are not forgotten; None if none remain."""
    if rows is None or not forgotten:
        return rows
    remaining = rows.filter(~is_forgotten(rows, forgotten))
    return None if remaining.is_empty() else remaining


def is_forgotten(rows: pl.DataFrame, forgotten: ForgottenTurns) -> pl.Series:
    """Return for each row, by its `turn_id` and `session_id`, whether its turn is forgotten."""
    keys = zip(rows["turn_id"], rows["session_id"], strict=True)
    included = [forgotten.includes(TurnId(turn), SessionId(session)) for turn, session in keys]
    return pl.Series(included, dtype=pl.Boolean)
