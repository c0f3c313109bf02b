"""A turn resolved against its group: all that its commit writes; and turns that fail."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from turnetl.base.errors import TRACEBACK, BadTurn, RunStopped, TurnetlError
from turnetl.base.graph_model import Receipt
from turnetl.base.model import Change, Episode, GroupId
from turnetl.extraction.port import Extractor, Resolved
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.ingestion.commit import build_change, build_receipt, with_embeddings
from turnetl.llm.embedders.port import Embedder
from turnetl.summaries.reasons import OF_RUN_ENDS, GateReason, reason_texts

if TYPE_CHECKING:  # imports numpy, which a run without new turns does without
    from turnetl.ingestion.turn_summaries import SummarisedChange, TurnSummaries


@dataclass(frozen=True, slots=True)
class ResolvedTurn:
    """What a commit of a turn writes, and what its extractor said of it."""

    change: Change
    receipt: Receipt
    resolved: Resolved
    summarised: "SummarisedChange | None"
    """None if the run keeps no summaries."""

    @property
    def for_mirror(self) -> Change:
        """The change as later turns of the run see it."""
        return self.summarised.for_mirror if self.summarised is not None else self.change

    @property
    def summary_reasons(self) -> Mapping[GateReason, int]:
        """The decisions about summaries, by reason."""
        return self.summarised.reasons if self.summarised is not None else {}


async def resolve_turn(
    extractor: Extractor[Any],
    embedder: Embedder,
    episode: Episode,
    extracted: Any,
    group: MirrorGroup,
    *,
    run_id: str,
    now: datetime,
    summaries: "TurnSummaries | None" = None,
    ends_run: bool = False,
) -> ResolvedTurn:
    """Resolve, embed and summarise an extracted turn. Does not change the group.

    Args:
        group: as it is after the commit before.
        summaries: of the group; None: the run keeps none.
        ends_run: whether no other turn of the group follows.
    """
    with as_bad_turn(episode):
        found = await extractor.resolve(episode, extracted, group, now=now)
        entities, facts = await with_embeddings(found.entities, found.facts, embedder.embed)
        resolved = replace(found, entities=entities, facts=facts)
        change = build_change(episode, resolved, group)
        summarised, reasons = None, tuple[str, ...]()
        if summaries is not None:
            summarised = await summaries.summarise(change, ends_run=ends_run)
            change, reasons = summarised.change, _decisions(summarised.reasons)
        receipt = build_receipt(change, extractor, run_id=run_id, now=now)
        receipt = replace(receipt, summary_reasons=reasons)
        return ResolvedTurn(change, receipt, resolved, summarised)


def _decisions(counts: Mapping[GateReason, int]) -> tuple[str, ...]:
    # What the end of a run writes depends on where it ends: one run and ten store the same.
    of_turn = (name for name in counts if name not in OF_RUN_ENDS)
    return reason_texts({name: counts[name] for name in of_turn})


log = logging.getLogger(__name__)

MAX_CONSECUTIVE_FAILURES = 5
"""After this many failed turns in a row the cause is not the content of a turn: the run stops."""


@contextmanager
def as_bad_turn(episode: Episode) -> Iterator[None]:
    """Convert unexpected exceptions into BadTurn: one turn's content must not end the run."""
    try:
        yield
    except TurnetlError:
        raise
    except Exception as error:
        turn = episode.turn
        log.info("unexpected error in turn %s:%d", turn.archive, turn.first_line, exc_info=error)
        message = f"unexpected {type(error).__name__}: {error}; please report it with its traceback"
        raise BadTurn(f"{message}, {TRACEBACK}") from error


def too_many_failures(group: GroupId, failures: int) -> RunStopped:
    """Return the error of a run that stops after consecutive failures."""
    return RunStopped(
        f"group `{group}`: {failures} turns in a row failed; `turnetl status` shows the reasons: "
        "correct the cause, then run `turnetl retry`"
    )
