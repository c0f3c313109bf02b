"""The summaries of a group over its turns, in one run or in several."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import episode
from tests.summaries.facts import START, fact, minutes, vector
from turnetl.model import Change, Entity, Fact, GroupId, TurnId, Usage
from turnetl.summaries.gate import GateLimits
from turnetl.summaries.group_summaries import GroupSummaries
from turnetl.summaries.reasons import GateReason
from turnetl.summaries.record_undo import RecordedSummaries
from turnetl.summaries.records import replay
from turnetl.summaries.rule_summary import rule_summary
from turnetl.summaries.summary_plan import SummaryPlan, outcome

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


@given(histories, st.sets(st.integers(0, 9)), failures)
def test_one_run_or_many_runs_decide_alike_and_write_the_same(
    history: Sequence[tuple[Fact, datetime]],
    starts: set[int],
    failing: frozenset[tuple[int, str]],
) -> None:
    one, many = Group(failing=failing), Group(failing=failing)
    summaries = one.load()
    restarted = many.load()
    for number, turn in enumerate(history):
        if number in starts:
            restarted = many.load()
        one.turn(summaries, turn)
        many.turn(restarted, turn)
        assert restarted.unwritten() == summaries.unwritten()
    assert many == one


@given(histories, failures, st.integers(0, 10))
def test_without_its_latest_turns_a_group_decides_as_it_did_before_them(
    history: Sequence[tuple[Fact, datetime]], failing: frozenset[tuple[int, str]], kept: int
) -> None:
    group, shorter = Group(failing=failing), Group(failing=failing)
    for played, turns in [(group, history), (shorter, history[:kept])]:
        summaries = played.load()
        for turn in turns:
            played.turn(summaries, turn)
    remaining = RecordedSummaries({TurnId(f"t{n}"): one for n, one in enumerate(group.records)})
    for number in reversed(range(len(shorter.records), len(history))):
        remaining.undo(TurnId(f"t{number}"), ())
    assert [*remaining.records.values()] == shorter.records


@given(histories, failures)
def test_the_next_attempt_knows_all_that_changed_since_the_last_text(
    history: Sequence[tuple[Fact, datetime]], failing: frozenset[tuple[int, str]]
) -> None:
    group = Group(failing=failing)
    summaries = group.load()
    stated: dict[str, set[Statement]] = {name: set() for name in NAMES}
    for number, (told, at) in enumerate(history):
        # A fact neither moves to other entities nor says something else later.
        uuid = f"{told.uuid} {told.target} {told.text}"
        group.turn(summaries, (replace(told, uuid=uuid), at))
        for given_ in group.plans[-1].inputs:
            entity, active = given_.entity.uuid, statements(given_.facts)
            new = statements(fact for fact in given_.facts if fact.uuid in given_.new)
            # What the summary states, and no longer holds; of what it does not state, the new.
            assert stated[entity] - active <= statements(given_.invalidated)
            assert active - stated[entity] <= new
            if (number, entity) not in failing:
                stated[entity] = active


Statement = tuple[str, str]


def statements(facts: Iterable[Fact]) -> set[Statement]:
    return {(fact.target, fact.text) for fact in facts}


@given(histories)
def test_a_turn_that_is_planned_and_not_committed_changes_nothing(
    history: Sequence[tuple[Fact, datetime]],
) -> None:
    group = Group()
    summaries = group.load()
    for told, at in history:
        failed = changes(facts=(replace(told, uuid="failed", text="fails"),), mentions=NAMES)
        first = summaries.plan(failed, at)
        assert summaries.plan(failed, at) == first
        group.turn(summaries, (told, at))
    undisturbed = Group()
    once = undisturbed.load()
    for turn in history:
        undisturbed.turn(once, turn)
    assert group == undisturbed


@given(histories)
def test_an_entity_has_the_summary_that_the_records_say(
    history: Sequence[tuple[Fact, datetime]],
) -> None:
    group = Group()
    summaries = group.load()
    for turn in history:
        group.turn(summaries, turn)
    recorded = replay(group.records)
    assert all(
        entity.summary == recorded[uuid].shown and not summaries.is_edited(uuid)
        for uuid, entity in group.entities.items()
    )


def test_a_summary_that_was_edited_by_hand_is_kept_also_by_the_next_run() -> None:
    group = Group()
    group.turn(group.load(), (fact("f1"), START))
    group.entities["parser"] = replace(group.entities["parser"], summary="My own words.")
    summaries = group.load()
    for number in (1, 2):
        different = fact(f"g{number}", f"it says {number}", vector(0, number, 1))
        group.turn(summaries, (different, minutes(60 * number)))
        assert group.plans[-1].decisions["parser"].reason is GateReason.EDITED
    assert group.entities["parser"].summary == "My own words."
    assert summaries.is_edited("parser")


def test_the_end_of_a_burst_is_no_decision_about_an_edited_summary() -> None:
    group = Group()
    for number in range(2):
        told = fact(f"f{number}", f"it says {number}", vector(number, 1 - number, 0))
        group.turn(group.load(), (told, minutes(number)))
    group.entities["parser"] = replace(group.entities["parser"], summary="My own words.")
    summaries = group.load()
    for number in range(2):
        elsewhere = fact(f"g{number}", f"a cat {number}", source="cat", target="sofa")
        group.turn(summaries, (elsewhere, minutes(30 + 60 * number)))
    assert [plan.decisions["lines"].reason for plan in group.plans[2:3]] == [GateReason.BURST_ENDED]
    assert all("parser" not in plan.decisions for plan in group.plans[2:])


def test_an_edited_summary_is_written_again_from_facts_and_what_was_recorded() -> None:
    group = Group()
    group.turn(group.load(), (fact("f1"), START))
    recorded = group.entities["parser"].summary
    group.entities["parser"] = replace(group.entities["parser"], summary="My own words.")
    group.entities["foreign"] = Entity("foreign", GroupId("zoo"), "foreign", (), "Told.", START)
    group.turn(group.load(), (fact("f2", "it says more", vector(0, 1, 0)), minutes(60)))
    [given] = group.load().edited()
    assert given.entity == group.entities["parser"]
    assert given.previous == recorded
    assert [one.uuid for one in given.facts] == ["f1", "f2"]
    assert given.new == {"f2"}


def test_the_first_turn_after_a_burst_refreshes_what_it_deferred() -> None:
    group = Group()
    summaries = group.load()
    for number in range(2):
        told = fact(f"f{number}", f"it says {number}", vector(number, 1 - number, 0))
        group.turn(summaries, (told, minutes(number)))
    elsewhere = fact("g", "a cat sleeps", vector(0, 0, 1), source="cat", target="sofa")
    group.turn(summaries, (elsewhere, minutes(30)))
    of_parser = [plan.decisions["parser"].reason for plan in group.plans]
    assert of_parser == [GateReason.FIRST, GateReason.BURST, GateReason.BURST_ENDED]
    assert "it says 1" in group.entities["parser"].summary
    assert group.reasons[-1] == {GateReason.BURST_ENDED: 2, GateReason.FIRST: 2}


def test_a_summary_without_a_text_and_one_that_is_flushed_are_counted() -> None:
    group = Group()
    summaries = group.load()
    for number in range(3):
        told = fact(
            f"f{number}", f"it says {number}", vector(number == 1, number == 0, number == 2)
        )
        group.turn(summaries, (told, minutes(number)))
    last = changes(facts=(fact("f3", "it says 3", vector(1, 1, 0)),))
    plan = summaries.plan(last, minutes(3), ends_run=True)
    assert plan.decisions["parser"].reason is GateReason.BURST_CAP
    assert outcome(plan, {})[GateReason.NO_TEXT] == 2
    other = changes(facts=(fact("g", "sleeps", source="cat", target="sofa"),), mentions=("cat",))
    ending = summaries.plan(other, minutes(3), ends_run=True)
    flushed = [given.entity.uuid for given in ending.flushed]
    assert flushed == ["lines", "parser"]
    texts = dict.fromkeys(flushed, "text")
    assert outcome(ending, texts)[GateReason.FLUSHED] == 2
    summaries.apply(other, summaries.record(ending, texts), minutes(3))
    assert summaries.unwritten() == ()


def test_after_an_undo_in_the_middle_every_remaining_fact_is_new_to_the_summary() -> None:
    group = Group()
    summaries = group.load()
    for number in range(4):
        told = fact(f"f{number}", f"it says {number}", vector(number, 4 - number, number % 2))
        group.turn(summaries, (told, minutes(100 * number)))
    history = {TurnId(f"t{number}"): record for number, record in enumerate(group.records)}
    undone = RecordedSummaries(history).undo(TurnId("t1"), ())
    group.records = [{**history, **undone.records}[TurnId(f"t{n}")] for n in (0, 2, 3)]
    del group.facts["f1"]
    for uuid, (_, after) in undone.texts.items():
        group.entities[uuid] = replace(group.entities[uuid], summary=after)
    of_parser = [one for one in group.load().unwritten() if one.entity.uuid == "parser"]
    [given] = of_parser
    assert "it says 0" in given.previous
    assert given.new == {"f0", "f2", "f3"}


def test_a_flush_after_the_last_turn_is_made_of_the_same_as_one_within_it() -> None:
    group = Group()
    summaries = group.load()
    group.turn(summaries, (fact("f0", "it says 0", vector(1, 0, 0)), START))
    last = changes(facts=(fact("f1", "it says 1", vector(0, 1, 0)),))
    plan = summaries.plan(last, minutes(1), ends_run=True)
    within = [given for given in plan.flushed if given.entity.uuid == "parser"]
    summaries.apply(last, summaries.record(plan, {}), minutes(1))
    after = [given for given in summaries.unwritten() if given.entity.uuid == "parser"]
    assert [given.degrees for given in within] == [given.degrees for given in after]
    assert within[0].degrees == {"parser": 2, "lines": 2}


def test_a_summary_that_the_provider_did_not_return_is_tried_by_the_next_turn() -> None:
    group = Group()
    summaries = group.load()
    change = changes(
        (Entity("parser", GroupId("zoo"), "parser", (), "", START),), (fact(),), (), ("parser",)
    )
    plan = summaries.plan(change, START)
    summaries.apply(change, summaries.record(plan, {}), START)
    again = summaries.plan(changes(mentions=("parser",)), minutes(1))
    assert again.decisions["parser"].reason is GateReason.FIRST


def no_texts(group: Group, summaries: GroupSummaries, change: Change, at: datetime) -> SummaryPlan:
    """Commit a turn whose requests all return no text."""
    plan = summaries.plan(change, at)
    record = summaries.record(plan, {})
    summaries.apply(change, record, at)
    group.records.append(record)
    return plan


def test_a_burst_that_ended_without_a_text_is_written_by_the_end_of_a_run() -> None:
    group = Group()
    summaries = group.load()
    for number in range(2):
        told = fact(f"f{number}", f"it says {number}", vector(number, 1 - number, 0))
        group.turn(summaries, (told, minutes(number)))
    elsewhere = changes(mentions=("cat",))
    plan = no_texts(group, summaries, elsewhere, minutes(30))
    assert plan.decisions["parser"].reason is GateReason.BURST_ENDED
    for held in (summaries, group.load()):
        assert [one.entity.uuid for one in held.unwritten()] == ["lines", "parser"]
        # No later turn of another entity repeats the request.
        assert not held.plan(elsewhere, minutes(90)).inputs
        ending = held.plan(elsewhere, minutes(90), ends_run=True)
        assert [one.entity.uuid for one in ending.flushed] == ["lines", "parser"]


def test_the_end_of_a_run_waits_for_more_turns_too_unless_it_is_asked_for_all() -> None:
    group = Group()
    summaries = group.load()
    group.turn(summaries, (fact("f0", "it says 0", vector(1, 0, 0)), START))
    for number in range(1, 3):
        told = fact(f"f{number}", f"it says {number}", vector(0, number, number % 2))
        no_texts(group, summaries, changes(facts=(told,)), minutes(60 * number))
        group.facts[told.uuid] = told
    for held in (summaries, group.load()):
        assert held.unwritten() == ()
        due = held.unwritten(all_deferred=True)
        assert [one.entity.uuid for one in due] == ["lines", "parser"]
        assert [one.failures for one in due] == [2, 2]


def test_facts_whose_vectors_have_two_dimensions_are_summarised_and_the_reason_is_counted() -> None:
    group = Group()
    summaries = group.load()
    group.turn(summaries, (fact("f0", "it says 0", vector(1, 0, 0)), START))
    group.turn(summaries, (fact("f1", "it says 1", vector(1, 0)), minutes(60)))
    group.turn(group.load(), (fact("f2", "it says 2", vector(1, 0)), minutes(120)))
    assert [plan.decisions["parser"].reason for plan in group.plans[1:]] == [
        GateReason.INCOMPARABLE,
        GateReason.INCOMPARABLE,
    ]
    assert group.reasons[1] == {GateReason.INCOMPARABLE: 2}
