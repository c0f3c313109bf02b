"""Why a summary is refreshed or skipped: the names of the counters."""

from turnetl.reason import Reason


class GateReason(Reason):
    """A reason of the summary gate."""

    FIRST = "first", "the entity has facts and no summary"
    INVALIDATED = "invalidated", "the turn invalidated a fact"
    CONTRADICTED = "contradicted", "a new fact denies an active one"
    STALE = "stale", "the facts changed, and the summary is older than the limit"
    DRIFTED = "drifted", "the facts are no longer about the same"
    BURST_ENDED = "burst_ended", "the turns that followed one another closely have ended"
    BURST_CAP = "burst_cap", "the summary was deferred as often as the limit allows"
    FLUSHED = "flushed", "the run ended while the summary was deferred"
    UNCHANGED = "unchanged", "the active facts are those of the summary"
    LOW_DRIFT = "low_drift", "the facts changed, but are still about the same"
    BURST = "burst", "turns about the entity follow one another closely; deferred"
    EDITED = "edited", "the summary was changed by hand and is kept"


SKIPPED = frozenset(
    {GateReason.UNCHANGED, GateReason.LOW_DRIFT, GateReason.BURST, GateReason.EDITED}
)
"""The reasons for which a summary is not refreshed."""
