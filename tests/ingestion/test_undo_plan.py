"""Which turns an undo takes, and which later turns built on them."""

from dataclasses import replace
from datetime import timedelta

from tests import builders
from tests.builders import GROUP, START
from tests.graph.sample_changes import entity, fact
from turnetl.base.graph_model import CommitRecord
from turnetl.base.model import Entity, Fact, SessionId, TurnId
from turnetl.ingestion.undo_plan import UndoSelection, plan_undo, select_turns

CART, TOTAL = (replace(entity(name), embedding=None) for name in ("cart.py", "total.py"))


def turn_id(number: int) -> TurnId:
    return builders.turn(f"p{number}").turn_id


def record(
    number: int,
    *,
    new: tuple[Entity | Fact, ...] = (),
    found: tuple[Entity | Fact, ...] = (),
    mentions: tuple[Entity, ...] = (),
    endpoints: tuple[Entity, ...] = (),
    run: str = "run-1",
) -> CommitRecord:
    """Return the record of the commit with this number."""
    session = SessionId(f"s{number % 2}")
    receipt = builders.receipt(builders.episode(f"p{number}", session_id=session), run_id=run)
    return CommitRecord(
        receipt=replace(receipt, committed_at=START + timedelta(hours=number)),
        sequence=number,
        entities_before=tuple(value for value in found if isinstance(value, Entity)),
        facts_before=tuple(value for value in found if isinstance(value, Fact)),
        entities_new=tuple(value.uuid for value in new if isinstance(value, Entity)),
        facts_new=tuple(value.uuid for value in new if isinstance(value, Fact)),
        mentions=tuple(value.uuid for value in mentions),
        endpoints=tuple(value.uuid for value in endpoints),
    )


def stated(number: int, *turns: int, **fields: object) -> Fact:
    """Return a fact about the cart of the turn with this number, as stated by these turns."""
    given = fact(turn_id(number), CART, TOTAL, f"fact {number}", embedding=None)
    return replace(given, turns=tuple(map(turn_id, turns)), **fields)  # type: ignore[arg-type]


def dependents(*records: CommitRecord, of: int) -> list[int]:
    """Return the numbers of the turns that built on the turn with this number."""
    plan = plan_undo(GROUP, records, [turn_id(of)])
    numbers = {each.receipt.turn_id: each.sequence for each in records}
    return [numbers[receipt.turn_id] for receipt in plan.dependents]


def test_turns_are_undone_newest_commit_first() -> None:
    plan = plan_undo(GROUP, [record(2), record(3), record(1)], [turn_id(1), turn_id(3)])
    assert [turn.record.sequence for turn in plan.turns] == [3, 1]
    assert not plan.is_refused


def test_a_turn_that_mentions_or_connects_a_new_entity_depends_on_its_turn() -> None:
    first = record(1, new=(CART,), mentions=(CART,))
    assert dependents(first, record(2, mentions=(CART,)), of=1) == [2]
    assert dependents(first, record(2, endpoints=(CART,)), of=1) == [2]
    assert dependents(first, record(2, mentions=(TOTAL,)), of=1) == []


def test_an_earlier_turn_depends_on_none() -> None:
    first = record(1, new=(CART,), mentions=(CART,))
    assert dependents(first, record(2, mentions=(CART,)), of=2) == []


def test_a_turn_that_mentions_an_entity_which_another_only_changed_does_not_depend_on_it() -> None:
    made, changed = record(1, new=(CART,)), record(2, found=(CART,), mentions=(CART,))
    assert dependents(made, changed, record(3, mentions=(CART,)), of=2) == []
    later = record(3, found=(replace(CART, summary="of 2"),), mentions=(CART,))
    assert dependents(made, changed, later, of=2) == [3]


def test_a_turn_that_states_a_new_fact_again_depends_on_its_turn() -> None:
    first, second = record(1, new=(stated(1, 1),)), record(2, found=(stated(1, 1),))
    assert dependents(first, second, of=1) == [2]


def test_a_turn_that_changes_an_invalidated_fact_depends_on_the_turn_that_invalidated_it() -> None:
    made, invalidated = record(1, new=(stated(1, 1),)), record(2, found=(stated(1, 1),))
    later = record(3, found=(stated(1, 1, 2, invalid_at=START),))
    assert dependents(made, invalidated, later, of=2) == [3]


def test_turns_that_state_the_same_fact_again_do_not_depend_on_one_another() -> None:
    made = record(1, new=(stated(1, 1),))
    again = [record(2, found=(stated(1, 1),)), record(3, found=(stated(1, 1, 2),))]
    assert dependents(made, *again, of=2) == []
    [turn] = plan_undo(GROUP, [made, *again], [turn_id(2)]).turns
    assert turn.restated == {stated(1).uuid}


def test_dependents_of_dependents_are_listed_and_cascade_takes_them_all() -> None:
    records = [
        record(1, new=(CART,)),
        record(2, new=(TOTAL,), mentions=(CART,)),
        record(3, mentions=(TOTAL,)),
        record(4),
    ]
    assert dependents(*records, of=1) == [3, 2]
    assert plan_undo(GROUP, records, [turn_id(1)]).is_refused
    cascading = plan_undo(GROUP, records, [turn_id(1)], cascade=True)
    assert not cascading.is_refused
    assert [turn.record.sequence for turn in cascading.turns] == [3, 2, 1]
    assert len(cascading.dependents) == 2


def test_turns_are_selected_by_all_given_conditions() -> None:
    records = [record(1), record(2), record(3, run="run-2"), record(4, run="run-2")]

    def selected(**conditions: object) -> list[int]:
        turns = select_turns(records, UndoSelection(**conditions))  # type: ignore[arg-type]
        return [each.sequence for each in records if each.receipt.turn_id in turns]

    assert selected(run="run-2") == [3, 4]
    assert selected(run="run") == [1, 2, 3, 4]
    assert selected(session="s1") == [1, 3]
    assert selected(turn=turn_id(2)[:8]) == [2]
    assert selected(since=START + timedelta(hours=2)) == [2, 3, 4]
    assert selected(run="run-2", session="s1") == [3]
