"""Facts that a user expects of turns, and how many of them a template finds."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from turnetl.base.errors import BadUsage
from turnetl.base.model import TurnId
from turnetl.base.tsv_file import read_tsv
from turnetl.evaluation.located_turns import LocatedTurns
from turnetl.llm.vectors import Matrix
from turnetl.migration.fact_match import EntityIndex, FactStatement

_ENTITIES = ("source", "target")
_ROW_NEEDS = (
    "a turn (its id, or the file of its archive, `:` and a line) and a fact, separated by a tab"
)


@dataclass(frozen=True, slots=True)
class ExpectedFact:
    """A labelled fact."""

    turn_id: TurnId
    text: str
    """As a sentence."""
    entities: tuple[str, ...]
    """Names that the extracted fact must be about or name; possibly none."""
    line: int
    """In the file of the labels."""


@dataclass(frozen=True, slots=True)
class CheckedFact:
    """A labelled fact, and the extracted one that is most similar."""

    expected: ExpectedFact
    is_found: bool
    nearest: str
    """Of the facts of its turn; empty if there are none."""
    similarity: float


@dataclass(frozen=True, slots=True)
class LabelScore:
    """How well the facts of a template are those that were expected."""

    checked: tuple[CheckedFact, ...]
    """In the order of the labels."""
    extracted: int
    """Facts that turns with labels state."""
    matching: int
    """Those of them that say what a label of their turn says."""

    @property
    def recall(self) -> float | None:
        """Return the share of the labels that were found; None without labels."""
        found = sum(one.is_found for one in self.checked)
        return found / len(self.checked) if self.checked else None

    @property
    def precision(self) -> float | None:
        """Return the share of the facts that labels say, too; None without a fact."""
        return self.matching / self.extracted if self.extracted else None


def read_expected(path: Path, turns: LocatedTurns) -> list[ExpectedFact]:
    """Read labelled facts: a table separated by tabs with the columns `turn` and `fact`.

    `source` and `target` may name entities that the fact must be about.

    Raises:
        BadUsage: the file cannot be read, or a row names no turn or no fact; says where.
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
        expected: the labels.
        facts: all facts of the template.
        turns: that state each of the facts.
        expected_rows: embeddings of the labels.
        fact_rows: embeddings of the facts.
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
