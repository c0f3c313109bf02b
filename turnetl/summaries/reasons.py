"""Why a summary is refreshed or skipped: the names of the counters."""

from collections import Counter
from collections.abc import Iterable, Mapping

from turnetl.base.reason import Reason


class GateReason(Reason):
    """A reason of the summary gate."""

    FIRST = "first", "The entity has facts and no summary."
    INVALIDATED = "invalidated", "A fact of the summary was invalidated."
    CONTRADICTED = "contradicted", "A new fact denies an active one."
    RELABELLED = "relabelled", "The kind of the entity changed."
    STALE = "stale", "The facts changed, and the summary is older than the limit."
    DRIFTED = "drifted", "The facts are no longer about the same."
    INCOMPARABLE = (
        "incomparable",
        "The facts changed, and their vectors cannot be compared with those of the summary.",
    )
    BURST_ENDED = "burst_ended", "The turns that followed one another closely have ended."
    BURST_CAP = "burst_cap", "The summary was deferred as often as the limit allows."
    FLUSHED = "flushed", "The run ended while the summary was deferred."
    FLUSH_NO_TEXT = (
        "flush_no_text",
        "The run ended, and the summariser returned no text; the summary is still deferred.",
    )
    FLUSH_STOPPED = (
        "flush_stopped",
        "The run ended, and the request was stopped; the summary is still deferred.",
    )
    UNCHANGED = "unchanged", "The active facts are those of the summary."
    LOW_DRIFT = "low_drift", "The facts changed, but are still about the same."
    BURST = "burst", "Turns about the entity follow one another closely; deferred."
    EDITED = "edited", "The summary was changed by hand and is kept."
    NO_TEXT = "no_text", "The summariser returned no text; the summary is kept."
    BACKOFF = (
        "backoff",
        "The summariser returned no text before, and is asked again after more turns.",
    )


SKIPPED = frozenset(
    {
        GateReason.UNCHANGED,
        GateReason.LOW_DRIFT,
        GateReason.BURST,
        GateReason.EDITED,
        GateReason.NO_TEXT,
        GateReason.BACKOFF,
        GateReason.FLUSH_NO_TEXT,
        GateReason.FLUSH_STOPPED,
    }
)
"""The reasons for which a summary is not refreshed."""
OF_RUN_ENDS = frozenset({GateReason.FLUSHED, GateReason.FLUSH_NO_TEXT, GateReason.FLUSH_STOPPED})
"""The reasons that depend on where a run ends."""


def reason_texts(counts: Mapping[GateReason, int]) -> tuple[str, ...]:
    """Return counts as a graph stores them: `3 unchanged`, sorted by reason."""
    return tuple(f"{count} {reason.value}" for reason, count in sorted(counts.items()))


def reason_counts(texts: Iterable[str]) -> dict[GateReason, int]:
    """Return the sums of stored counts, sorted by reason."""
    sums: Counter[GateReason] = Counter()
    for text in texts:
        count, _, reason = text.partition(" ")
        sums[GateReason(reason)] += int(count)
    return dict(sorted(sums.items()))


def refreshed(counts: Mapping[GateReason, int]) -> dict[GateReason, int]:
    return {reason: count for reason, count in counts.items() if reason not in SKIPPED}


def skipped(counts: Mapping[GateReason, int]) -> dict[GateReason, int]:
    return {reason: count for reason, count in counts.items() if reason in SKIPPED}
