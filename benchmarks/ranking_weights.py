"""Weights of the ranking by cross-validation: the evidence is recorded once, and then replayed.

A question's candidates are recorded with all evidence. Another set of weights then is a matrix
product, not another search. What is reported of a fold comes from weights that were chosen without
it: no question of a session, or of a conversation, chooses the weights that rank its own turns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from turnetl.evaluation.intervals import wilson
from turnetl.index.conditions import Selection
from turnetl.index.persistent import PersistentIndex
from turnetl.llm.embedders import Embedder
from turnetl.retrieval.query import Thesaurus
from turnetl.retrieval.ranking import WEIGHTS
from turnetl.retrieval.search import rank_all

FOLDS = 5
_FACTORS = (0.0, 0.5, 0.75, 1.33, 2.0)
_ADDED = 0.1
"""What a weight of nothing becomes first."""
_ROUNDS = 2
_LEAST_GAIN = 1e-4
DEPTHS = (1, 5, 10)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RecordedQuestion:
    """The candidates of a question, in the order of the search."""

    fold: str
    """Questions with the same one are never in two folds."""
    evidence: Floats
    """A row per candidate, a column per kind of `WEIGHTS`, times what its time keeps of it."""
    right: NDArray[np.bool_]
    places: NDArray[np.intp]
    """What is counted as one hit: the number of the turn, or of its session."""

    def reciprocal_rank(self, weights: Floats) -> float:
        """Return the reciprocal of the rank of the first right hit; 0 if there is none."""
        if not self.right.any():
            return 0.0
        scores = self.evidence @ weights
        best = scores[self.right].max()
        # A hit is as good as its best turn; equal ones keep the order of the search.
        above = scores > best
        first = np.flatnonzero(self.right & (scores == best))[0]
        above[:first] |= scores[:first] == best
        return 1 / (1 + len(np.unique(self.places[above])))


@dataclass(frozen=True)
class RecordedTurn:
    name: str
    evidence: Floats


async def recorded_turns(
    index: PersistentIndex,
    embedder: Embedder,
    question: str,
    *,
    now: datetime | None = None,
    selection: Selection = Selection(),  # noqa: B008 - a frozen value
    thesaurus: Thesaurus = Thesaurus(),  # noqa: B008 - a frozen value
) -> list[RecordedTurn]:
    """Return the turns that a search ranks, best first, with their evidence."""
    total = sum(WEIGHTS.values())
    turns = []
    ranked = await rank_all(
        index, question, embedder, now=now, selection=selection, thesaurus=thesaurus
    )
    for hit in ranked:
        given = np.array([hit.evidence.get(kind, 0.0) for kind in WEIGHTS])
        plain = float(given @ np.array([*WEIGHTS.values()])) / total
        kept = hit.score / plain if plain else 1.0
        turns.append(RecordedTurn(hit.turn.turn_id, given * kept))
    return turns


def print_cross_validated(questions: Sequence[RecordedQuestion], unit: str) -> None:
    """Print the recall of the weights in use, and of those chosen without each fold."""
    now = np.array([*WEIGHTS.values()])
    names = sorted({one.fold for one in questions})
    fold_of = {name: place % FOLDS for place, name in enumerate(names)}
    held: list[float] = []
    chosen: list[Floats] = []
    for fold in range(min(FOLDS, len(names))):
        kept = [one for one in questions if fold_of[one.fold] != fold]
        weights = best_weights(kept, now)
        chosen.append(weights)
        held += [one.reciprocal_rank(weights) for one in questions if fold_of[one.fold] == fold]
    print(f"\nweights by cross-validation, {min(FOLDS, len(names))} folds of whole {unit}")
    print_line("weights in use", [one.reciprocal_rank(now) for one in questions])
    print_line("weights of other folds", held)
    fitted = best_weights(questions, now)
    print_line("weights of all (too good)", [one.reciprocal_rank(fitted) for one in questions])
    for place, kind in enumerate(WEIGHTS):
        values = " ".join(f"{weights[place]:.2f}" for weights in chosen)
        print(f"    {kind:18} {now[place]:.2f}  chosen {values}  all {fitted[place]:.2f}")


def print_line(name: str, found: Sequence[float]) -> None:
    parts = []
    for depth in DEPTHS:
        count = sum(one >= 1 / depth - 1e-9 for one in found)
        low, high = wilson(count, len(found))
        share = count / max(len(found), 1)
        parts.append(f"@{depth} {100 * share:.1f} [{100 * low:.1f} {100 * high:.1f}]")
    print(f"  {name:26} {'  '.join(parts)}  MRR {np.mean(found):.3f}")


def best_weights(questions: Sequence[RecordedQuestion], start: Floats) -> Floats:
    """Return the weights with the highest mean reciprocal rank that a descent along axes finds."""
    weights, best = start.copy(), _mean(questions, start)
    for _ in range(_ROUNDS):
        for place in range(len(weights)):
            for factor in _FACTORS:
                tried = weights.copy()
                tried[place] = tried[place] * factor if tried[place] else _ADDED * factor
                found = _mean(questions, tried)
                if found > best + _LEAST_GAIN:
                    weights, best = tried, found
    return weights


def _mean(questions: Sequence[RecordedQuestion], weights: Floats) -> float:
    return float(np.mean([one.reciprocal_rank(weights) for one in questions]))


def numbered(names: Sequence[str]) -> NDArray[np.intp]:
    """Return a number for each name, equal for equal ones."""
    numbers: Mapping[str, int] = {name: place for place, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], dtype=np.intp)
