"""What a comparison must show so that a cutover needs no `--accept`. Pure."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from turnetl.graph.migrations import MigrationPhase
from turnetl.migration.comparison import GroupComparison

_QUANTILE = 1.96
"""Of the normal distribution: 95 % lie within."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The settings `migration.*`."""

    fact_similarity: float
    """Cosine from which a new fact that shares an entity expresses an old one."""
    min_expressed: float
    """Share of the old facts that new facts must express; of a few facts, a share that may have
    come about by chance does not count against it."""
    min_probe_hits: float
    """Share of the search probes whose session must be found among the turns."""


def verdict_reasons(
    comparison: GroupComparison, thresholds: Thresholds, phase: MigrationPhase
) -> tuple[str, ...]:
    """Return the thresholds that are not met, each as a sentence without a full stop.

    Args:
        comparison: of a group.
        thresholds: to meet.
        phase: of the migration.
    """
    return tuple(_reasons(comparison, thresholds, phase))


def _reasons(
    comparison: GroupComparison, thresholds: Thresholds, phase: MigrationPhase
) -> Iterator[str]:
    if phase is MigrationPhase.RUNNING:
        yield "turns are missing: `turnetl migrate run` ingests them"
    empty = sum(
        bool(one.old.episodes) and not one.new.episodes
        for one in comparison.sessions
        if one.session_id is not None
    )
    if empty:
        yield f"{empty:,} of the old sessions have no turn"
    facts = comparison.old.facts
    if facts and _highest_share(comparison.expressed, facts) < thresholds.min_expressed:
        yield (
            f"new facts express {comparison.expressed:.0%} of {facts:,} old facts, "
            f"less than {thresholds.min_expressed:.0%} (`migration.min_expressed`)"
        )
    found = comparison.new_hit_rate
    if found is not None and found < thresholds.min_probe_hits:
        yield (
            f"a search among the turns finds the session of {found:.0%} of "
            f"{len(comparison.probes):,} probes, less than {thresholds.min_probe_hits:.0%} "
            "(`migration.min_probe_hits`)"
        )


def _highest_share(share: float, count: int) -> float:
    """Return the upper end of Wilson's interval for a share of a number of facts."""
    if share >= 1:
        return 1.0
    squared = _QUANTILE**2
    middle = share + squared / (2 * count)
    margin = _QUANTILE * math.sqrt(share * (1 - share) / count + squared / (4 * count**2))
    return (middle + margin) / (1 + squared / count)
