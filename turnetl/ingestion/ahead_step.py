"""One turn that is resolved ahead of its commit."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeVar

from turnetl.base.model import Change, Entity, Fact
from turnetl.graph.mirror.overlay import Overlay
from turnetl.ingestion.prefetch import PrefetchedTurn
from turnetl.llm.ahead import TurnAhead

_Created = TypeVar("_Created", Entity, Fact)
Outcome = Mapping[str, object]
"""What a turn makes of each entity and fact, by uuid, without times of the run."""


@dataclass(slots=True, eq=False)
class AheadStep:
    """A turn that is resolved ahead."""

    turn: PrefetchedTurn
    requests: TurnAhead
    overlay: Overlay
    """The group after the turn, if the guesses are right."""
    change: Change | None = None
    """What the turn changes, if the guesses are right."""
    outcome: Outcome = field(default_factory=dict)

    def take_times(self, committed: Change) -> None:
        """Take the times at which a turn before this one created what this one changes."""
        if self.change is None:
            return
        times = {one.uuid: one.created_at for one in committed.entities}
        times |= {one.uuid: one.created_at for one in committed.facts}
        entities = [one.uuid for one in self.change.entities if one.uuid in times]
        facts = [one.uuid for one in self.change.facts if one.uuid in times]
        self.overlay.add(
            _with_times(map(self.overlay.entity, entities), times),
            _with_times(map(self.overlay.fact, facts), times),
        )
        self.change = replace(
            self.change,
            entities=tuple(_with_times(self.change.entities, times)),
            facts=tuple(_with_times(self.change.facts, times)),
        )


def outcome_of(change: Change) -> Outcome:
    """Return what a change makes of each entity and fact."""
    entities = {
        one.uuid: (one.name, one.labels, one.summary, one.attributes) for one in change.entities
    }
    facts = {
        one.uuid: (one.source, one.target, one.text, one.turns, one.valid_at, one.invalid_at)
        for one in change.facts
    }
    return {**entities, **facts, **change.summary_texts}


def _with_times(
    items: Iterable[_Created | None], times: Mapping[str, datetime]
) -> Iterator[_Created]:
    """Yield the items with these times of creation, by uuid."""
    for item in items:
        if item is not None:
            created_at = times.get(item.uuid)
            yield item if created_at is None else replace(item, created_at=created_at)
