"""The summary of a session follows from its turns and their facts, however it came about."""

from collections.abc import Sequence
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from tests.summaries.facts import START, fact, minutes
from turnetl.base.model import Fact, SessionId, TurnId
from turnetl.summaries.group_sagas import GroupSagas, SagaTurn, rule_saga_summary
from turnetl.summaries.rule_summary import MAX_CHARS

TEXT = """user: Why do the tests fail?

Look closely.

tools: Bash pytest -q -> failed: KeyError

assistant: They fail with KeyError.

The price is missing: I added it."""


def turn(name: str, session: str = "s", at: float = 0, **texts: str) -> SagaTurn:
    intent, outcome = texts.get("intent", f"ask {name}"), texts.get("outcome", f"did {name}")
    return SagaTurn(TurnId(name), SessionId(session), minutes(at), intent, outcome)


def stated(uuid: str, relation: str, *turns: str, text: str = "", ended: bool = False) -> Fact:
    return fact(
        uuid,
        text or f"{relation} {uuid}",
        relation=relation,
        turns=tuple(map(TurnId, turns)),
        invalid_at=START + timedelta(days=1) if ended else None,
    )


def test_a_turn_contributes_its_intent_and_its_outcome() -> None:
    of_text = SagaTurn.of_text(TurnId("t"), SessionId("s"), START, TEXT)
    assert of_text.intent == "Why do the tests fail? Look closely."
    expected = "They fail with KeyError. The price is missing: I added it. (tests fail)"
    assert of_text.outcome == expected


def test_a_summary_has_intents_outcomes_changes_open_problems_and_decisions() -> None:
    turns = [turn("a", at=0), turn("b", at=1, intent="make it round all cents"), turn("c", at=2)]
    facts = [
        stated("f1", "DECIDED", "a"),
        stated("f2", "FAILED_WITH", "b"),
        stated("f3", "FAILED_WITH", "b", ended=True),
        stated("f4", "CHANGED", "b", text="`src/cart.py`: `total` was changed"),
        stated("f5", "CHANGED", "b", text="`src/cart.py`: `tax` was changed"),
    ]
    assert rule_saga_summary(turns, facts).splitlines() == [
        "Asked, 2026-03-01: ask a",
        "Then: make it round all cents",
        "Decision: DECIDED f1",
        "Change: `cart.py`: `total` was changed",
        "Change: `cart.py`: `tax` was changed",
        "Open problem: FAILED_WITH f2",
        "Changed: cart.py",
        "Done: did b",
        "Outcome: did c",
    ]


def test_a_summary_is_bounded_and_may_be_empty() -> None:
    many = [stated(f"f{number}", "DECIDED", "a", text="x" * 5_000) for number in range(50)]
    long = turn("a", intent="y" * 200, outcome="z" * 300)
    assert len(rule_saga_summary([long], many)) <= MAX_CHARS
    assert rule_saga_summary([turn("a", intent="", outcome="")], []) == ""
    assert rule_saga_summary([], []) == ""


def test_a_fact_that_a_later_session_ends_changes_the_summary_of_the_earlier_one() -> None:
    first, second = turn("a", "one"), turn("b", "two", at=60)
    sagas = GroupSagas([first], [stated("f", "FAILED_WITH", "a")])
    assert "Open problem" in sagas.text(SessionId("one"))
    changed = sagas.after(second, [stated("f", "FAILED_WITH", "a", ended=True)])
    assert changed == {
        SessionId("one"): "Asked, 2026-03-01: ask a\nOutcome: did a",
        SessionId("two"): "Asked, 2026-03-01: ask b\nOutcome: did b",
    }


NAMES = "abcdef"
SESSIONS = (SessionId("one"), SessionId("two"), SessionId("three"))
TURNS = st.permutations(NAMES).flatmap(
    lambda names: st.lists(
        st.sampled_from(["one", "two", "three"]), min_size=len(names), max_size=len(names)
    ).map(
        lambda sessions: [
            turn(name, session, at=NAMES.index(name))
            for name, session in zip(names, sessions, strict=True)
        ]
    )
)
"""Turns of three sessions, committed in any order."""


@st.composite
def changes(draw: st.DrawFn) -> list[tuple[SagaTurn, list[Fact]]]:
    """Draw turns, each with facts that it states, states again or ends."""
    known: dict[str, Fact] = {}
    found = []
    for each in draw(TURNS):
        facts = []
        for uuid in draw(st.lists(st.sampled_from(["f1", "f2", "f3"]), unique=True)):
            before = known.get(uuid)
            relation = before.relation if before else draw(st.sampled_from(["DECIDED", "RAN"]))
            turns = (*(before.turns if before else ()), each.turn_id)
            ends = before is not None and draw(st.booleans())
            names = before.turns if ends and before else turns
            facts.append(stated(uuid, relation, *names, ended=ends))
        known |= {one.uuid: one for one in facts}
        found.append((each, facts))
    return found


def texts(sagas: GroupSagas) -> dict[SessionId, str]:
    return {name: sagas.text(name) for name in SESSIONS}


@given(changes())
def test_the_summaries_are_those_of_all_turns_and_facts_and_a_plan_changes_nothing(
    history: Sequence[tuple[SagaTurn, list[Fact]]],
) -> None:
    sagas, written = GroupSagas([], []), dict.fromkeys(SESSIONS, "")
    for each, facts in history:
        before = texts(sagas)
        planned = sagas.after(each, facts)
        assert texts(sagas) == before
        sagas.add(each, facts)
        written.update(planned)
        assert texts(sagas) == written
    last = {one.uuid: one for _, facts in history for one in facts}
    assert texts(GroupSagas([each for each, _ in history], last.values())) == written


@given(changes())
def test_without_its_latest_turns_the_summaries_are_as_before_them(
    history: Sequence[tuple[SagaTurn, list[Fact]]],
) -> None:
    sagas, states = GroupSagas([], []), []
    known: dict[str, Fact] = {}
    for each, facts in history:
        states.append((texts(sagas), dict(known)))
        sagas.add(each, facts)
        known |= {one.uuid: one for one in facts}
    for (each, facts), (before, held) in zip(reversed(history), reversed(states), strict=True):
        shown = texts(sagas)
        removed = [one.uuid for one in facts if one.uuid not in held]
        restored = [held[one.uuid] for one in facts if one.uuid in held]
        changed = sagas.remove(each.turn_id, removed, restored)
        assert texts(sagas) == before
        gone = {name for name, text in before.items() if not text}
        assert {name: text for name, text in {**shown, **changed}.items() if name not in gone} == {
            name: text for name, text in before.items() if text
        }
