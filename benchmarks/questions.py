"""The questions of benchmarks/retrieval.py, with the turns that answer them."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FILES = (
    "retrieval_questions.tsv",
    "retrieval_questions_other.tsv",
    "retrieval_questions_blind.tsv",
    "retrieval_questions_absent.tsv",
    "retrieval_questions_sealed.tsv",
)
ABSENT = "absent"
"""The kind of a question about a subject that never came up."""
SEALED = "sealed"
"""The part that chooses nothing: it was written after all limits, and is measured only."""
_NO_PROMPT = "-"
_TURN = "turn:"


@dataclass(frozen=True)
class BenchmarkQuestion:
    part: str
    """`tune` and `held`: seen while the search was made. `other`: written later, from turns without
    a look at the ranking. `blind`: written before, not looked at. `match` and `match-unseen`: for
    the marks of hits, divided by a digest of the question. `sealed`: written when the limits of
    the marks were settled, without a look at what a search finds."""
    kind: str
    text: str
    turns: frozenset[str]
    """Native ids of the prompts, or ids of the turns, that answer it; any of them counts."""


def read_questions() -> Iterator[BenchmarkQuestion]:
    """Yield all questions."""
    for name in FILES:
        with Path(__file__).with_name(name).open(encoding="utf-8") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                names = (name.removeprefix(_TURN) for name in row["prompt"].split())
                turns = frozenset(name for name in names if name != _NO_PROMPT)
                yield BenchmarkQuestion(row["part"], row["kind"], row["question"], turns)
