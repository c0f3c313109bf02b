"""What a committed turn adds to the progress of its run."""

import logging
from dataclasses import replace

from turnetl.base.reason import add_counts
from turnetl.ingestion.commit import invalidated_facts
from turnetl.ingestion.ingest_run import IngestProgress
from turnetl.ingestion.report import Invalidation
from turnetl.ingestion.resolved_turn import ResolvedTurn

log = logging.getLogger(__name__)


def with_turn(
    done: IngestProgress, resolved: ResolvedTurn, *, written: bool, invalidation_alert: int
) -> IngestProgress:
    """Return the progress after a commit; a turn that invalidates many facts is logged.

    Args:
        done: before.
        resolved: the turn.
        written: whether this run committed it, not another one before.
        invalidation_alert: facts that a turn may invalidate.
    """
    if not written:
        return replace(done, already_committed=done.already_committed + 1)
    turn, facts = resolved.change.episode.turn, len(invalidated_facts(resolved.change))
    invalidations = done.invalidations
    if facts > invalidation_alert:
        log.warning(
            "a turn invalidated many facts", extra={"turn_id": turn.turn_id, "facts": facts}
        )
        invalidation = Invalidation(turn.turn_id, turn.archive, turn.first_line, facts)
        invalidations = (*invalidations, invalidation)
    return replace(
        done,
        committed=done.committed + 1,
        discarded=add_counts(done.discarded, resolved.resolved.discarded),
        invalidations=invalidations,
        summaries=add_counts(done.summaries, resolved.summary_reasons),
    )
