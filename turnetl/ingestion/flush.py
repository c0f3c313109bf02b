"""What the end of a run wrote to deferred summaries, and what it did not write, by reason."""

from collections.abc import Mapping
from dataclasses import dataclass

from turnetl.summaries.port import Summarised
from turnetl.summaries.reasons import GateReason


@dataclass(frozen=True, slots=True)
class Flush:
    """What the end of a run wrote to deferred summaries."""

    written: Summarised
    missing: int = 0
    """Summaries that were to be written and are still deferred."""

    @property
    def reasons(self) -> Mapping[GateReason, int]:
        """How many were written and how many were not, by reason; none is zero."""
        is_stopped = self.written.error is not None
        missing = GateReason.FLUSH_STOPPED if is_stopped else GateReason.FLUSH_NO_TEXT
        counts = {GateReason.FLUSHED: len(self.written.texts), missing: self.missing}
        return {reason: count for reason, count in counts.items() if count}
