"""A group of summaries as a graph holds it, filled turn by turn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from hypothesis import strategies as st

from tests.builders import episode
from tests.summaries.facts import START, fact, minutes, vector
from turnetl.base.model import Change, Entity, Fact, GroupId, Usage
from turnetl.summaries.gate import GateLimits
from turnetl.summaries.group_summaries import GroupSummaries, SummaryPlan, outcome
from turnetl.summaries.reasons import GateReason
from turnetl.summaries.rule_summary import rule_summary

LIMITS = GateLimits(
    min_similarity=0.9,
    burst_turns=2,
    burst_window=timedelta(minutes=10),
    burst_cap=3,
    max_age=timedelta(days=1),
)
NAMES = ("parser", "lines", "rows")


def changes(
    entities: Sequence[Entity] = (),
    facts: Sequence[Fact] = (),
    facts_before: Sequence[Fact] = (),
    mentions: Sequence[str] = (),
) -> Change:
    """Return what a turn changes."""
    return Change(
        episode=episode(),
        entities=tuple(entities),
        facts=tuple(facts),
        mentions=tuple(mentions),
        entities_before=(),
        facts_before=tuple(facts_before),
        previous_turn=None,
        next_turn=None,
        usage=Usage(),
    )


@dataclass
class Group:
    """A group as a graph holds it, filled turn by turn."""

    entities: dict[str, Entity] = field(default_factory=dict)
    facts: dict[str, Fact] = field(default_factory=dict)
    records: list[str] = field(default_factory=list)
    now: datetime | None = None
    plans: list[SummaryPlan] = field(default_factory=list)
    reasons: list[Mapping[GateReason, int]] = field(default_factory=list)
    failing: frozenset[tuple[int, str]] = frozenset()
    """Turns by their number, each with an entity for which it gets no text."""

    def load(self) -> GroupSummaries:
        return GroupSummaries(
            self.entities.values(), self.facts.values(), self.records, self.now, LIMITS
        )

    def turn(self, summaries: GroupSummaries, turn: tuple[Fact, datetime]) -> None:
        """Commit a turn with one fact."""
        told, at = turn
        new = {
            name: Entity(name, GroupId("zoo"), name, ("File",), "", START)
            for name in (told.source, told.target)
            if name not in self.entities
        }
        known = self.facts.get(told.uuid)
        change = changes((*new.values(),), (told,), (known,) if known else (), (*new,))
        plan = summaries.plan(change, at)
        texts = {
            given.entity.uuid: rule_summary(given.entity, given.facts)
            for given in plan.inputs
            if (len(self.records), given.entity.uuid) not in self.failing
        }
        record = summaries.record(plan, texts)
        summaries.apply(change, record, at)
        self.plans.append(plan)
        self.reasons.append(outcome(plan, texts))
        self.records.append(record)
        self.entities |= new
        self.facts[told.uuid] = told
        self.now = at if self.now is None else max(self.now, at)
        for uuid, text in texts.items():
            self.entities[uuid] = replace(self.entities[uuid], summary=text)


facts = st.builds(
    lambda uuid, text, target, ended: fact(
        uuid,
        text,
        vector(len(text), text.count("s") + 1, text.count("r") + 1),
        target=target,
        invalid_at=START if ended else None,
    ),
    st.sampled_from(["f1", "f2", "f3"]),
    st.sampled_from(["reads lines", "does not read lines", "writes rows"]),
    st.sampled_from(NAMES[1:]),
    st.booleans(),
)
histories = st.lists(st.tuples(facts, st.integers(0, 60).map(minutes)), max_size=10)
failures = st.frozensets(st.tuples(st.integers(0, 9), st.sampled_from(NAMES)))


def no_texts(group: Group, summaries: GroupSummaries, change: Change, at: datetime) -> SummaryPlan:
    """Commit a turn whose requests all return no text."""
    plan = summaries.plan(change, at)
    record = summaries.record(plan, {})
    summaries.apply(change, record, at)
    group.records.append(record)
    return plan
