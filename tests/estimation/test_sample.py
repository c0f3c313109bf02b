"""Which turns a pilot draws."""

import random
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from turnetl.base.model import GroupId, TurnId
from turnetl.estimation.sample import PendingTurn, StratumValues, draw, merged, predict, stratify

LENGTHS = st.lists(st.integers(0, 10**6), min_size=1, max_size=60)


def pending(lengths: Sequence[int]) -> list[PendingTurn]:
    return [
        PendingTurn(TurnId(f"t{number:03}"), GroupId("g"), length, length // 4, 1)
        for number, length in enumerate(lengths)
    ]


@given(LENGTHS, st.integers(1, 40))
def test_every_turn_is_in_one_stratum_and_strata_ascend_by_length(
    lengths: list[int], size: int
) -> None:
    turns = pending(lengths)
    strata = stratify(turns, size)
    assert sorted(turn.turn_id for stratum in strata for turn in stratum.turns) == sorted(
        turn.turn_id for turn in turns
    )
    ordered = [turn.chars for stratum in strata for turn in stratum.turns]
    assert ordered == sorted(ordered)


@given(LENGTHS, st.integers(1, 40), st.integers(0, 9))
def test_a_sample_has_distinct_turns_and_equal_seeds_draw_equal_turns(
    lengths: list[int], size: int, seed: int
) -> None:
    strata = stratify(pending(lengths), size)
    drawn = draw(strata, size, seed=seed)
    assert len({turn.turn_id for turn in drawn}) == len(drawn) == min(size, len(lengths))
    assert draw(strata, size, seed=seed) == drawn


@given(LENGTHS, st.integers(2, 40), st.integers(0, 40))
def test_after_a_pilot_that_ended_early_every_stratum_is_still_covered(
    lengths: list[int], size: int, done: int
) -> None:
    strata = stratify(pending(lengths), size)
    drawn = {turn.turn_id for turn in draw(strata, size, seed=0)[:done]}
    joined = merged(strata, drawn)
    assert sum(len(stratum.turns) for stratum in joined) == len(lengths)
    if len(joined) > 1:
        for stratum in joined:
            count = sum(turn.turn_id in drawn for turn in stratum.turns)
            assert count >= min(2, len(stratum.turns))


def test_long_turns_are_drawn_more_often_than_short_ones() -> None:
    turns = pending([100] * 90 + [200_000] * 10)
    drawn = draw(stratify(turns, 20), 20, seed=1)
    assert sum(turn.chars > 100 for turn in drawn) >= 8


def test_another_seed_draws_other_turns() -> None:
    strata = stratify(pending(range(1000)), 20)
    assert draw(strata, 20, seed=1) != draw(strata, 20, seed=2)


def test_nine_of_ten_samples_give_a_range_with_the_actual_total() -> None:
    generator = random.Random(7)
    turns = pending([round(generator.lognormvariate(7.5, 1.1)) for _ in range(300)])
    used = {
        turn.turn_id: (10_000 + turn.chars) * generator.lognormvariate(0, 0.4) for turn in turns
    }
    strata, within = stratify(turns, 16), 0
    for seed in range(200):
        drawn = {turn.turn_id for turn in draw(strata, 16, seed=seed)}
        parts = [
            StratumValues(
                tuple(used[turn.turn_id] for turn in stratum.turns if turn.turn_id in drawn),
                sum(turn.turn_id not in drawn for turn in stratum.turns),
            )
            for stratum in strata
        ]
        total = predict(parts, known=sum(used[turn] for turn in drawn))
        within += total.holds(sum(used.values()))
    assert within >= 180
