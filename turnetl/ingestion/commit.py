"""What one turn commits: resolved against its group, its change and receipt; turns that fail."""

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from turnetl.base.errors import TRACEBACK, BadTurn, RunStopped, TurnetlError
from turnetl.base.graph_model import GroupContents, Receipt
from turnetl.base.ids import recipe_digest
from turnetl.base.model import Change, Entity, Episode, Fact, GroupId, Vector
from turnetl.extraction.port import Extractor, Resolved
from turnetl.graph.mirror.group import GroupView, MirrorGroup
from turnetl.llm.embedders import Embedder
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
    return RunStopped(
        f"group `{group}`: {failures} turns in a row failed; `turnetl status` shows the reasons: "
        "correct the cause, then run `turnetl retry`"
    )


async def with_embeddings(
    entities: Sequence[Entity],
    facts: Sequence[Fact],
    embed: Callable[[Sequence[str]], Awaitable[Sequence[Vector]]],
) -> tuple[tuple[Entity, ...], tuple[Fact, ...]]:
    """Return them, each with an embedding of its name or text; `embed` is called at most once."""
    names = [entity.name for entity in entities if entity.embedding is None]
    texts = [fact.text for fact in facts if fact.embedding is None]
    vectors = iter(await embed([*names, *texts]) if names or texts else ())
    return (
        tuple(
            entity if entity.embedding is not None else replace(entity, embedding=next(vectors))
            for entity in entities
        ),
        tuple(
            fact if fact.embedding is not None else replace(fact, embedding=next(vectors))
            for fact in facts
        ),
    )


def build_change(episode: Episode, resolved: Resolved, group: MirrorGroup) -> Change:
    """Combine what the turn writes with the before-images and the turn's place in its session."""
    previous, following = group.neighbours(episode)
    in_chunks = len(episode.chunks) > 1
    return replace(
        change_of(episode, resolved, group),
        previous_turn=previous,
        next_turn=following,
        previous_chunks=group.chunks_of(previous) if previous else 1,
        mentioned_in=dict(_mentioning_chunks(episode, resolved, group)) if in_chunks else {},
    )


def change_of(episode: Episode, resolved: Resolved, group: GroupView) -> Change:
    """Combine what the turn writes with the before-images, without its place in its session."""
    entities_before = (group.entity(entity.uuid) for entity in resolved.entities)
    facts_before = (group.fact(fact.uuid) for fact in resolved.facts)
    return Change(
        episode=episode,
        entities=resolved.entities,
        facts=resolved.facts,
        mentions=resolved.mentions,
        entities_before=tuple(entity for entity in entities_before if entity is not None),
        facts_before=tuple(fact for fact in facts_before if fact is not None),
        previous_turn=None,
        next_turn=None,
        usage=resolved.usage,
        held=resolved.held,
    )


def build_receipt(
    change: Change, extractor: Extractor[Any], *, run_id: str, now: datetime
) -> Receipt:
    """Build the receipt that is committed with the change, which the extractor made."""
    episode, turn = change.episode, change.episode.turn
    return Receipt(
        turn_id=turn.turn_id,
        group_id=turn.group_id,
        format=turn.format,
        session_id=turn.session_id,
        ordinal=turn.ordinal,
        parent_session_id=turn.parent_session_id,
        agent_id=turn.agent_id,
        run_id=run_id,
        content_hash=turn.content_hash,
        text_hash=episode.text_hash,
        chunks=len(episode.chunks),
        extractor=extractor.name,
        model=extractor.model,
        recipe=recipe_digest(extractor.recipe_parts(turn.group_id, episode.kind)),
        committed_at=now,
        started_at=time_of(episode),
        ended_at=turn.ended_at,
        cwd=turn.cwd,
        git_branch=turn.git_branch,
        tools=tuple(dict.fromkeys(one.call.name for one in turn.agent_calls)),
        archive=turn.archive,
        first_line=turn.first_line,
        last_line=turn.last_line,
        usage=change.usage,
        entities_new=len(change.entities) - len(change.entities_before),
        facts_new=len(change.facts) - len(change.facts_before),
        facts_invalidated=len(invalidated_facts(change)),
        facts_held=len(change.held),
    )


def time_of(episode: Episode) -> datetime:
    if episode.turn.started_at is None:
        raise AssertionError(f"turn {episode.turn_id} has no time and is never planned")
    return episode.turn.started_at


def invalidated_facts(change: Change) -> list[Fact]:
    """Return the facts that were valid before the change and no longer are."""
    valid_before = {fact.uuid for fact in change.facts_before if fact.invalid_at is None}
    return [
        fact for fact in change.facts if fact.uuid in valid_before and fact.invalid_at is not None
    ]


def _mentioning_chunks(
    episode: Episode, resolved: Resolved, group: MirrorGroup
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield for each entity the chunks that mention it: as resolved, else those with its name."""
    new = {entity.uuid: entity for entity in resolved.entities}
    chunks = [chunk.casefold() for chunk in episode.chunks]
    for uuid in resolved.mentions:
        resolved_chunks = resolved.mentioned_in.get(uuid)
        entity = new.get(uuid) or group.entity(uuid)
        yield uuid, resolved_chunks or _chunks_with_name(entity, chunks) or (0,)


def _chunks_with_name(entity: Entity | None, chunks: list[str]) -> tuple[int, ...]:
    name = entity.name.casefold() if entity else ""
    return tuple(number for number, chunk in enumerate(chunks) if name and name in chunk)
