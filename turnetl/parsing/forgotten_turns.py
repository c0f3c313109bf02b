"""Turns of an archive that were forgotten: they are counted, and reach no table."""

from collections import Counter
from dataclasses import replace

import polars as pl

from turnetl.base.model import SessionId, TurnId
from turnetl.base.skip_reasons import SkipReason
from turnetl.formats.base import ParseCounts
from turnetl.lake.forgotten import ForgottenTurns
from turnetl.parsing.redaction import RedactedTurns


def without_forgotten(
    turns: RedactedTurns, counts: ParseCounts, format_name: str, forgotten: ForgottenTurns
) -> tuple[RedactedTurns, ParseCounts]:
    """Return the turns that are not forgotten, and the counts with the others as skipped.

    Args:
        turns: of one archive.
        counts: of the archive. The line of the prompt of a forgotten turn is counted as skipped.
        format_name: of the archive.
        forgotten: the list of the lake.
    """
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
    return remaining, counted_forgotten(counts, len(turns.turns) - len(kept))


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
