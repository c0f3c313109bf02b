"""A sample of turns by kind and length: each kind in its share, with short and long turns."""

from collections.abc import Collection, Mapping, Sequence

from turnetl.base.model import TurnId
from turnetl.estimation.sample import PendingTurn, draw, stratify


def sample_turns(
    turns: Mapping[str, Sequence[PendingTurn]],
    size: int,
    *,
    seed: int,
    first: Collection[TurnId] = (),
) -> frozenset[TurnId]:
    """Return the sample: equal turns, size and seed give an equal one.

    Args:
        turns: all turns, by kind.
        size: of the sample; all turns if there are not more.
        seed: of the draw.
        first: turns that come before all others.
    """
    chosen = sorted(turn.turn_id for of_kind in turns.values() for turn in of_kind)
    preferred = [turn for turn in chosen if turn in first][:size]
    rest = {
        kind: [turn for turn in of_kind if turn.turn_id not in preferred]
        for kind, of_kind in sorted(turns.items())
    }
    quotas = _quotas({kind: len(of_kind) for kind, of_kind in rest.items()}, size - len(preferred))
    drawn = [
        turn.turn_id
        for kind, quota in quotas.items()
        for turn in draw(stratify(rest[kind], quota), quota, seed=seed)
    ]
    return frozenset((*preferred, *drawn))


def _quotas(counts: Mapping[str, int], size: int) -> dict[str, int]:
    """Divide a sample among kinds by their counts; as many kinds as possible get one turn."""
    quotas = dict.fromkeys(counts, 0)
    total = sum(counts.values())
    for _ in range(min(size, total)):
        # The kind that is furthest below its share; one without any turn comes first.
        open_kinds = [kind for kind, count in counts.items() if quotas[kind] < count]
        kind = min(
            open_kinds,
            key=lambda one: (quotas[one] > 0, (quotas[one] + 0.5) / counts[one], one),
        )
        quotas[kind] += 1
    return quotas
