"""The sample of a comparison: every kind, short and long turns, the same ones again."""

from hypothesis import given
from hypothesis import strategies as st

from turnetl.base.model import GroupId, TurnId
from turnetl.estimation.sample import PendingTurn
from turnetl.evaluation.question_set import sample_by_group
from turnetl.evaluation.template_trial import sample_turns

KINDS = ("code_heavy", "conversational", "error_heavy")
GROUP = GroupId("shop")


def turn(number: int, chars: int = 100) -> PendingTurn:
    return PendingTurn(TurnId(f"turn-{number:04}"), GROUP, chars, chars // 4, 1)


by_kind = st.dictionaries(
    st.sampled_from(KINDS), st.lists(st.integers(0, 50_000), max_size=30), max_size=len(KINDS)
).map(
    lambda lengths: {
        kind: [turn(1000 * KINDS.index(kind) + place, chars) for place, chars in enumerate(found)]
        for kind, found in lengths.items()
    }
)


@given(by_kind, st.integers(1, 60), st.integers(0, 5))
def test_a_sample_has_as_many_turns_as_it_can_and_is_drawn_again(
    turns: dict[str, list[PendingTurn]], size: int, seed: int
) -> None:
    every = {one.turn_id for of_kind in turns.values() for one in of_kind}
    sample = sample_turns(turns, size, seed=seed)
    assert sample <= every
    assert len(sample) == min(size, len(every))
    shuffled = {kind: list(reversed(turns[kind])) for kind in reversed(list(turns))}
    assert sample_turns(shuffled, size, seed=seed) == sample


@given(by_kind, st.integers(len(KINDS), 60))
def test_every_kind_is_in_a_sample_that_has_room_for_it(
    turns: dict[str, list[PendingTurn]], size: int
) -> None:
    sample = sample_turns(turns, size, seed=0)
    kinds = [kind for kind, found in turns.items() if any(one.turn_id in sample for one in found)]
    assert kinds == [kind for kind, found in turns.items() if found]


def test_kinds_have_their_share() -> None:
    turns = {
        "code_heavy": [turn(number) for number in range(60)],
        "error_heavy": [turn(1000 + number) for number in range(40)],
    }
    sample = sample_turns(turns, 10, seed=3)
    counts = {kind: sum(one.turn_id in sample for one in found) for kind, found in turns.items()}
    assert counts == {"code_heavy": 6, "error_heavy": 4}


def test_short_and_long_turns_are_in_a_sample() -> None:
    short = [turn(number, 200) for number in range(90)]
    long = [turn(1000 + number, 60_000) for number in range(10)]
    sample = sample_turns({"ordinary": [*short, *long]}, 12, seed=0)
    assert any(one.turn_id in sample for one in short)
    assert any(one.turn_id in sample for one in long)


def test_turns_with_labels_come_first_up_to_the_size() -> None:
    turns = {"ordinary": [turn(number) for number in range(20)]}
    labelled = {TurnId("turn-0003"), TurnId("turn-0017")}
    assert labelled <= sample_turns(turns, 5, seed=9, first=labelled)
    assert sample_turns(turns, 1, seed=9, first=labelled) < labelled
    assert len(sample_turns(turns, 5, seed=9, first={TurnId("unknown")})) == 5


@given(st.sets(st.integers(0, 999), min_size=3, max_size=40), st.integers(0, 3))
def test_a_new_turn_leaves_the_others_in_the_order_of_the_questions(
    numbers: set[int], seed: int
) -> None:
    turns = [TurnId(f"turn-{number}") for number in sorted(numbers)]
    before = sample_by_group({GROUP: turns[1:]}, 99, seed=seed)
    after = sample_by_group({GROUP: turns}, 99, seed=seed)
    assert [one for one in after if one[1] != turns[0]] == before


def test_questions_are_about_each_group_in_turn() -> None:
    turns = {
        GroupId("large"): [TurnId(f"l{number}") for number in range(50)],
        GroupId("small"): [TurnId("s0")],
    }
    groups = [group for group, _ in sample_by_group(turns, 4, seed=0)]
    assert groups == ["large", "small", "large", "large"]
