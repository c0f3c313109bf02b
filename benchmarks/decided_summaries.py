"""What turns decided about summaries, and what a provider was sent: compared between runs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.summary_responders import is_written_by_model
from turnetl.base.model import Entity, Fact, GroupId, TurnId
from turnetl.graph.open import open_graph
from turnetl.summaries.records import EntityRecord, decode


@dataclass(frozen=True)
class DecidedSummaries:
    """What the turns of a graph recorded about summaries, and what its entities show."""

    reasons: Mapping[TurnId, tuple[str, ...]]
    records: Sequence[tuple[TurnId, Sequence[EntityRecord]]]
    """In the order of the commits, without what ends of runs wrote."""
    entities: Mapping[str, str]
    """The summary of each entity, by uuid."""
    graph: Sequence[tuple[object, ...]]
    """Entities and facts, sorted, without the times at which runs wrote them."""

    @property
    def decisions(self) -> int:
        return sum(len(records) for _, records in self.records)

    @property
    def requested(self) -> int:
        """Summaries that turns requested of the model of `summary_responders`."""
        refreshes = (one.refresh for _, of_turn in self.records for one in of_turn)
        return sum(is_written_by_model(one.text) for one in refreshes if one is not None)


@dataclass(frozen=True)
class SentRequests:
    """What a provider was sent."""

    bodies: Counter[str]
    """By digest, with their numbers."""
    for_summaries: int
    """Requests that refresh summaries."""


async def decided_summaries(url: str, group: GroupId) -> DecidedSummaries:
    """Return what the turns of a group in a graph decided."""
    store = await open_graph(url, user="", password="", write=False)
    contents = await store.load(group)
    await store.close()
    decoded = ((turn, decode(text)) for turn, text in contents.summaries.items())
    return DecidedSummaries(
        {one.turn_id: one.summary_reasons for one in contents.receipts},
        [(turn, [one for one in each if one.flushed is None]) for turn, each in decoded],
        {entity.uuid: entity.summary for entity in contents.entities},
        sorted(
            [*map(_written_entity, contents.entities), *map(_written_fact, contents.facts)],
            key=repr,
        ),
    )


def _written_entity(one: Entity) -> tuple[object, ...]:
    return one.uuid, one.name, one.labels, one.embedding


def _written_fact(one: Fact) -> tuple[object, ...]:
    times = (one.valid_at, one.invalid_at)
    return one.uuid, one.source, one.target, one.relation, one.text, times, one.turns, one.embedding


def compare(expected: DecidedSummaries, found: DecidedSummaries, how: str) -> bool:
    """Print what is equal; return whether all of it is."""
    equal = {
        "reasons": found.reasons == expected.reasons,
        "records": found.records == expected.records,
        "summaries of entities": found.entities == expected.entities,
        "entities and facts": found.graph == expected.graph,
    }
    for what, is_equal in equal.items():
        print(f"  {how}: {what} {'equal' if is_equal else 'DIFFER'}")
    return all(equal.values())


def compare_requests(
    expected: SentRequests, found: SentRequests, how: str, *, most_repeated: int
) -> bool:
    """Print whether the requests are equal, and how many were sent twice; return whether it is so.

    Args:
        expected: of one run.
        found: of the others.
        how: the others.
        most_repeated: requests that may be sent again.
    """
    bodies = found.bodies
    are_equal, repeated = bodies.keys() == expected.bodies.keys(), bodies.total() - len(bodies)
    verdict = "equal" if are_equal else "DIFFER"
    print(
        f"  {how}: {len(bodies):,} requests {verdict}, {found.for_summaries} for summaries, "
        f"{repeated} sent again (at most {most_repeated})"
    )
    return are_equal and repeated <= most_repeated
