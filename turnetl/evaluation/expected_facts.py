"""Facts that a user expects of turns, and how many of them a template finds."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from turnetl.base.errors import BadUsage
from turnetl.base.model import TurnId
from turnetl.base.results import INLINED, described
from turnetl.base.tsv_file import read_tsv
from turnetl.evaluation.question_set import LocatedTurns
from turnetl.llm.vectors import Matrix
from turnetl.migration.matching import EntityIndex, FactStatement

_ENTITIES = ("source", "target")
_ROW_NEEDS = (
    "a turn (its id, or the file of its archive, `:` and a line) and a fact, separated by a tab"
)


@dataclass(frozen=True, slots=True)
class ExpectedFact:
    """A labelled fact."""

    turn_id: Annotated[TurnId, described("The turn of the label.")]
    text: Annotated[str, described("The label.", name="fact")]
    """As a sentence."""
    entities: tuple[str, ...]
    """Names that the extracted fact must be about or name; possibly none."""
    line: Annotated[int, described("Of the label in its file.")]


@dataclass(frozen=True, slots=True)
class CheckedFact:
    """A labelled fact, and the most similar fact of its turn."""

    expected: Annotated[ExpectedFact, INLINED]
    is_found: Annotated[bool, described("Whether a fact of the turn says it.", name="found")]
    nearest: Annotated[str, described("The most similar fact of the turn; empty if it has none.")]
    similarity: Annotated[float, described("Of the two texts, from 0 to 1.")]


@dataclass(frozen=True, slots=True)
class LabelScore:
    """Labelled facts and those of a template."""

    checked: Annotated[
        tuple[CheckedFact, ...],
        described("The labels, in the order of the file.", name="labels"),
    ]
    extracted: Annotated[int, described("Facts of the turns with labels.", name="facts")]
    matching: Annotated[int, described("Those of them that a label says.")]
    """A label of their turn."""

    @property
    def recall(
        self,
    ) -> Annotated[
        float | None, described("Share of the labels that were found; null without labels.")
    ]:
        found = sum(one.is_found for one in self.checked)
        return found / len(self.checked) if self.checked else None

    @property
    def precision(
        self,
    ) -> Annotated[
        float | None,
        described("Share of the facts of turns with labels that a label says; null without facts."),
    ]:
        return self.matching / self.extracted if self.extracted else None


def read_expected(path: Path, turns: LocatedTurns) -> list[ExpectedFact]:
    """Read labelled facts: a table separated by tabs with the columns `turn` and `fact`.

    `source` and `target` may name entities that the fact must be about.
    """
    expected = []
    for row in read_tsv(path, ("turn", "fact"), _ENTITIES, row_needs=_ROW_NEEDS):
        try:
            turn = turns.find(row.values["turn"])
        except BadUsage as error:
            raise BadUsage(f"`{path}`, line {row.line}: {error}") from error
        names = tuple(name for one in _ENTITIES if (name := row.values[one]))
        expected.append(ExpectedFact(turn.turn_id, row.values["fact"], names, row.line))
    return expected


def score_labels(
    expected: Sequence[ExpectedFact],
    facts: Sequence[FactStatement],
    turns: Sequence[Collection[TurnId]],
    expected_rows: Matrix,
    fact_rows: Matrix,
    *,
    similarity: float,
) -> LabelScore:
    """Compare the facts of a template with the labels of the same turns.

    Args:
        turns: that state each of the facts.
        similarity: cosine from which a fact says what a label says, if it has its entities.
    """
    index = EntityIndex(facts)
    cosines = expected_rows @ fact_rows.T if facts else None
    matching: set[int] = set()
    checked = []
    for row, label in enumerate(expected):
        of_turn = [position for position, stated in enumerate(turns) if label.turn_id in stated]
        if cosines is None or not of_turn:
            checked.append(CheckedFact(label, is_found=False, nearest="", similarity=0.0))
            continue
        named = [set(index.sharing([name]).tolist()) for name in label.entities]
        fitting = [position for position in of_turn if all(position in one for one in named)]
        found = [position for position in fitting if cosines[row, position] >= similarity]
        matching.update(found)
        nearest = max(fitting or of_turn, key=lambda position: float(cosines[row, position]))
        cosine = max(0.0, float(cosines[row, nearest]))
        checked.append(CheckedFact(label, bool(found), facts[nearest].text, round(cosine, 4)))
    labelled = {label.turn_id for label in expected}
    extracted = sum(not labelled.isdisjoint(stated) for stated in turns)
    return LabelScore(tuple(checked), extracted, len(matching))
