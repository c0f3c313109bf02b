"""The verdict of a comparison: whether the turns of a migration may replace the old data."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import msgspec

from turnetl.base import ids
from turnetl.base.graph_model import Receipt
from turnetl.graph.migrations import TurnMigration
from turnetl.graph.session_level import SessionLevelData


@dataclass(frozen=True, slots=True)
class CompareVerdict:
    """The result of `migrate compare` for one migration."""

    digest: str
    """`state_digest` of what was compared."""
    compared_at: datetime
    reasons: tuple[str, ...]
    """The thresholds that were not met, each as a sentence; empty if all were."""


def state_digest(old: SessionLevelData, new: Iterable[Receipt]) -> str:
    """Return a digest of a group and its shadow group: a verdict counts for this state only.

    Args:
        old: the session-level data of the group.
        new: the receipts of the shadow group, in any order.
    """
    episodes = (ids.digest(one.uuid, one.name, one.text) for one in old.episodes)
    facts = (
        ids.digest(one.uuid, one.text, str(one.valid_at), str(one.invalid_at), *one.turns)
        for one in old.facts
    )
    turns = (ids.digest(one.turn_id, one.content_hash, one.recipe) for one in new)
    parts = (ids.digest(*episodes), ids.digest(*facts), ids.digest(*sorted(turns)))
    return ids.digest(*parts)


def encoded(verdict: CompareVerdict) -> str:
    """Return the verdict as JSON, for `TurnMigration.verdict`."""
    return msgspec.json.encode(verdict).decode()


def recorded_verdict(migration: TurnMigration) -> CompareVerdict | None:
    """Return the verdict of the last comparison; None if there was none, or it is not readable."""
    try:
        return msgspec.json.decode(migration.verdict, type=CompareVerdict)
    except msgspec.MsgspecError:
        return None


def cutover_refusal(migration: TurnMigration, digest: str) -> str | None:
    """Return why a cutover needs `--accept`, with what to do; None if it does not.

    Args:
        migration: with its verdict.
        digest: `state_digest` of the two groups now.
    """
    group, verdict = migration.group_id, recorded_verdict(migration)
    compare = f"run `turnetl migrate compare --group {group}`"
    accept = "or cut over with --accept"
    if verdict is None:
        return f"group `{group}`: old and new data were not compared: {compare}, {accept}"
    if verdict.digest != digest:
        return (
            f"group `{group}`: old or new data changed since they were compared at "
            f"{verdict.compared_at:%Y-%m-%d %H:%M}: {compare} again, {accept}"
        )
    if verdict.reasons:
        reasons = "; ".join(verdict.reasons)
        return (
            f"group `{group}`: {reasons}; {compare} with `--html FILE` to see what is lost, "
            f"{accept}"
        )
    return None
