"""A turn resolved against its group: all that its commit writes; and turns that fail."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from turnetl.base.errors import TRACEBACK, BadTurn, RunStopped, TurnetlError
from turnetl.base.graph_model import GroupContents, Receipt
from turnetl.base.model import Change, Episode, GroupId
from turnetl.extraction.port import Extractor, Resolved
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.ingestion.commit import build_change, build_receipt, with_embeddings
from turnetl.llm.embedders.port import Embedder
from turnetl.summaries.port import Summariser
from turnetl.summaries.reasons import OF_RUN_ENDS, GateReason, reason_texts

if TYPE_CHECKING:  # imports numpy, which a run without new turns does without
    from turnetl.ingestion.turn_summaries import SummaryRules, TurnSummaries


@dataclass(frozen=True, slots=True)
class ResolvedTurn:
    """What a commit of a turn writes, and what its extractor said of it."""

    change: Change
    receipt: Receipt
    resolved: Resolved
    for_mirror: Change
    """The change as later turns of the run see it."""
    summary_reasons: Mapping[GateReason, int]
    """The decisions about summaries, by reason."""


@dataclass
class MirroredGroup:
    """A group in memory, after the turns that were applied to it."""

    mirror: MirrorGroup
    summaries: "TurnSummaries | None"
    """None: the run keeps none."""

    @classmethod
    def of(cls, contents: GroupContents, rules: "SummaryRules | None") -> Self:
        """Return the group as the graph holds it."""
        summaries = None if rules is None else rules.of_group(contents)
        decided = contents if summaries is None else summaries.decided(contents)
        return cls(MirrorGroup(decided), summaries)

    def with_summariser(self, summariser: Summariser) -> Self:
        """Return a view of the same group, whose summaries another summariser writes."""
        if self.summaries is None:
            return self
        return replace(self, summaries=self.summaries.with_summariser(summariser))

    def apply(self, resolved: ResolvedTurn) -> None:
        """Apply the next turn."""
        self.mirror.apply(resolved.for_mirror, resolved.receipt)
        if self.summaries is not None:
            self.summaries.apply(resolved.change)


async def resolve_turn(
    extractor: Extractor[Any],
    embedder: Embedder,
    episode: Episode,
    extracted: Any,
    group: MirroredGroup,
    *,
    run_id: str,
    now: datetime,
    ends_run: bool = False,
) -> ResolvedTurn:
    """Resolve, embed and summarise the next turn of a group. Does not change the group.

    Args:
        ends_run: whether no other turn of the group follows.
    """
    with as_bad_turn(episode):
        found = await extractor.resolve(episode, extracted, group.mirror, now=now)
        entities, facts = await with_embeddings(found.entities, found.facts, embedder.embed)
        resolved = replace(found, entities=entities, facts=facts)
        change = for_mirror = build_change(episode, resolved, group.mirror)
        reasons: Mapping[GateReason, int] = {}
        if group.summaries is not None:
            summarised = await group.summaries.summarise(change, ends_run=ends_run)
            change, for_mirror = summarised.change, summarised.for_mirror
            reasons = summarised.reasons
        receipt = build_receipt(change, extractor, run_id=run_id, now=now)
        # What the end of a run writes depends on where it ends: one run and ten store the same.
        of_turn = {name: count for name, count in reasons.items() if name not in OF_RUN_ENDS}
        receipt = replace(receipt, summary_reasons=reason_texts(of_turn))
        return ResolvedTurn(change, receipt, resolved, for_mirror, reasons)


log = logging.getLogger(__name__)

MAX_CONSECUTIVE_FAILURES = 5
"""After this many failed turns in a row the cause is not the content of a turn: the run stops."""


async def extract_turn(
    extractor: Extractor[Any], episode: Episode, context: Sequence[Episode]
) -> Any:
    """Return what the extractor finds in a turn; unexpected exceptions are BadTurn."""
    with as_bad_turn(episode):
        return await extractor.extract(episode, context)


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
