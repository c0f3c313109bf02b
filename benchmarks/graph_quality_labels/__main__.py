"""The agreement of two readers of the same items: raw, and as Cohen's kappa.

    python -m benchmarks.graph_quality_labels

The items were drawn at random: 12 rows of chat with a statement and 12 without one, 20 errors, 10
entities and 6 strings that are none; kappa is that of this mixture, not of whole sessions. The
second reader gave one verdict per item: if the first reader has several statements in one row, the
readers agree if it is one of them. Disagreements of `unseen` sessions are only counted.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from benchmarks.graph_quality_labels import SecondVerdict, graph_labels, second_verdicts

Pair = tuple[str, str]
"""The verdicts of the first and the second reader."""


def agreement(pairs: Sequence[Pair]) -> float:
    """Return the share of equal verdicts."""
    return sum(first == second for first, second in pairs) / len(pairs)


def kappa(pairs: Sequence[Pair]) -> float:
    """Return Cohen's kappa: the agreement beyond chance; 1.0 if there is only one verdict."""
    firsts = Counter(first for first, _ in pairs)
    seconds = Counter(second for _, second in pairs)
    chance = sum(count * seconds[verdict] for verdict, count in firsts.items()) / len(pairs) ** 2
    return 1.0 if chance == 1 else (agreement(pairs) - chance) / (1 - chance)


def pair(row: SecondVerdict) -> Pair:
    """Return both verdicts; of several of the first reader, the one on which they agree."""
    return (row.verdict if row.verdict in row.first else row.first[0]), row.verdict


def _found(verdict: str) -> str:
    return "no" if verdict in ("none", "not_an_error") else "yes"


def _kind(verdict: str) -> str:
    return verdict.rsplit(maxsplit=1)[-1]


def _speaker(verdict: str) -> str:
    return verdict.split(maxsplit=1)[0]


QUESTIONS: tuple[tuple[str, str, Callable[[str], str]], ...] = (
    ("is there a statement", "statement", _found),
    ("its kind, or none", "statement", _kind),
    ("its speaker, if both found one", "statement", _speaker),
    ("is it an error", "resolution", _found),
    ("its resolution", "resolution", str),
    ("is it an entity", "label", _found),
    ("its label, or none", "label", str),
)


def _table(rows: Sequence[SecondVerdict]) -> Iterator[str]:
    yield f"{'question':32} items  equal  kappa"
    for title, question, part in QUESTIONS:
        pairs = [pair(row) for row in rows if row.question == question]
        if part is _speaker:
            pairs = [both for both in pairs if "none" not in both]
        parts = [(part(first), part(second)) for first, second in pairs]
        yield f"{title:32} {len(parts):5}  {agreement(parts):5.2f}  {kappa(parts):5.2f}"


def _disagreements(rows: Sequence[SecondVerdict]) -> Iterator[str]:
    labels = graph_labels()
    split = {row.archive: row.split for row in labels.sessions}
    borderline = {(row.archive, row.line) for row in labels.decisions if row.borderline}
    different = [row for row in rows if row.verdict not in row.first]
    for row in different:
        if split[row.archive] == "tune":
            place = row.id or f"{row.archive}:{row.line}"
            note = " (borderline)" if (row.archive, row.line) in borderline else ""
            yield f"{row.question} {place}: {' | '.join(row.first)}, then {row.verdict}{note}"
    unseen = sum(split[row.archive] == "unseen" for row in different)
    further = sum(len(row.first) - 1 for row in rows)
    yield f"{unseen} more in unseen sessions; {further} further statements of the first reader only"


def main() -> None:
    rows = second_verdicts()
    print(*_table(rows), "", "Different verdicts", *_disagreements(rows), sep="\n")


if __name__ == "__main__":
    main()
