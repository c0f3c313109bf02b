"""Labels of what a good graph of real sessions has; guide.md says how they are judged.

They were written by reading the archives, before anything that turnetl extracts was seen. They hold
no text of the archives but names and key terms: without the archives nothing can be measured.
"""

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

FOLDER = Path(__file__).parent
KINDS = ("decision", "rejection", "preference", "reported_problem")
RESOLUTIONS = ("fixed_by", "passed_on_rerun", "unresolved", "not_an_error")
RELATIONS = (
    *("CHANGED", "ADDED", "DELETED", "RENAMED"),
    *("COMMITTED", "DEPENDS_ON", "CAUSED_BY", "FIXED_BY"),
)
NOT_AN_ENTITY = "none"
ENTITY_LABELS = (
    *("File", "Symbol", "Test", "Command", "Package", "Error", "Decision", "Preference", "Ticket"),
    *("Branch", "Commit", "PR", "Flag", "Setting", "Tool", "Concept", NOT_AN_ENTITY),
)


@dataclass(frozen=True, slots=True)
class LabelledArchive:
    archive: str
    """Path, relative to the folder of all archives."""
    session: str
    """The first archive, by path, of the same session."""
    split: str
    """`tune`, or `unseen` while rules are tuned."""
    read: str
    """`whole`, or `part`: only the labelled turns were read."""


@dataclass(frozen=True, slots=True)
class DecisionLabel:
    id: str
    archive: str
    line: int
    """Of the row that states it, from 1."""
    turn_line: int
    """The first line of its turn."""
    kind: str
    speaker: str
    statement: str
    about: str
    key_terms: tuple[str, ...]
    """See `has_key_terms`."""
    supersedes: str
    """The id of the label that it ends, or empty."""
    borderline: bool
    """Neither missed nor wrong, whatever is predicted."""
    split: str


@dataclass(frozen=True, slots=True)
class ErrorLabel:
    id: str
    archive: str
    line: int
    """Of the call, from 1."""
    turn_line: int
    tool: str
    identity: str
    is_error: bool
    resolution: str
    resolving_archive: str
    resolving_line: int | None
    """Of the first call that passes."""
    fix_line: int | None
    """Of the edit or the corrected call."""
    what: str
    split: str


@dataclass(frozen=True, slots=True)
class EntityLabel:
    id: str
    name: str
    label: str
    aliases: tuple[str, ...]
    archive: str
    line: int
    why: str
    split: str


@dataclass(frozen=True, slots=True)
class EditLabel:
    id: str
    archive: str
    line: int
    turn_line: int
    relation: str
    subject: str
    object: str
    statement: str
    split: str


@dataclass(frozen=True, slots=True)
class IntentLabel:
    id: str
    archive: str
    turn_line: int
    short: bool
    """The prompt has at most 40 characters."""
    intent: str
    outcome: str
    split: str


@dataclass(frozen=True, slots=True)
class SecondVerdict:
    """What a second reader, who had not seen the labels, found at one place."""

    question: str
    """`statement` (said by whom, of which kind), `resolution` (of an error) or `label`."""
    archive: str
    line: int
    id: str
    """Of the label; empty for a statement."""
    verdict: str
    first: tuple[str, ...]
    """The first reader's verdicts when the two were compared: no later correction changes them."""


@dataclass(frozen=True, slots=True)
class GraphLabels:
    sessions: tuple[LabelledArchive, ...]
    decisions: tuple[DecisionLabel, ...]
    errors: tuple[ErrorLabel, ...]
    entities: tuple[EntityLabel, ...]
    edits: tuple[EditLabel, ...]
    intents: tuple[IntentLabel, ...]


Label = DecisionLabel | ErrorLabel | EntityLabel | EditLabel | IntentLabel
Row = LabelledArchive | Label | SecondVerdict
_Row = TypeVar("_Row", bound=Row)
_BY_COLUMN: Mapping[str, Callable[[str], Any]] = {
    "key_terms": lambda value: tuple(value.split()),
    "aliases": lambda value: tuple(value.split("|")) if value else (),
    "first": lambda value: tuple(value.split("|")),
}
_BY_TYPE: Mapping[object, Callable[[str], Any]] = {
    str: str,
    int: int,
    int | None: lambda value: int(value) if value else None,
    bool: {"yes": True, "no": False}.__getitem__,
}


def graph_labels(folder: Path = FOLDER) -> GraphLabels:
    """Read all lists. Raises ValueError for other columns, KeyError for a flag but yes and no."""
    return GraphLabels(
        sessions=_rows(folder / "sessions.tsv", LabelledArchive),
        decisions=_rows(folder / "decisions.tsv", DecisionLabel),
        errors=_rows(folder / "errors.tsv", ErrorLabel),
        entities=_rows(folder / "entities.tsv", EntityLabel),
        edits=_rows(folder / "edits.tsv", EditLabel),
        intents=_rows(folder / "intents.tsv", IntentLabel),
    )


def second_verdicts(folder: Path = FOLDER) -> tuple[SecondVerdict, ...]:
    """Read second_reader.tsv; raises as `graph_labels`."""
    return _rows(folder / "second_reader.tsv", SecondVerdict)


def has_key_terms(statement: str, terms: Sequence[str]) -> bool:
    """Return whether one alternative of each term begins a word of the statement, in any case.

    A term holds its alternatives separated by `|`.
    """
    return all(
        any(re.search(rf"(?<!\w){re.escape(form)}", statement, re.IGNORECASE) for form in forms)
        for forms in (term.split("|") for term in terms)
    )


def missing_lines(labels: GraphLabels, archives: Path) -> Iterator[str]:
    """Yield the places that labels name and the archives lack, as `path:line`."""
    lines: dict[str, list[bytes]] = {}
    for archive, line in sorted(_places(labels)):
        if archive not in lines:
            path = archives / archive
            lines[archive] = path.read_bytes().split(b"\n") if path.is_file() else []
        if not any(row.strip() for row in lines[archive][line - 1 : line]):
            yield f"{archive}:{line}"


def _places(labels: GraphLabels) -> set[tuple[str, int]]:
    rows: tuple[DecisionLabel | ErrorLabel | EditLabel, ...]
    rows = (*labels.decisions, *labels.errors, *labels.edits)
    found = {(row.archive, row.line) for row in (*rows, *labels.entities)}
    found |= {(row.archive, row.turn_line) for row in (*rows, *labels.intents)}
    for error in labels.errors:
        resolving = (error.resolving_archive, error.resolving_line)
        for archive, line in (resolving, (error.archive, error.fix_line)):
            found |= {(archive, line)} if line is not None else set()
    return found


def _rows(path: Path, kind: type[_Row]) -> tuple[_Row, ...]:
    read = {
        column.name: _BY_COLUMN.get(column.name) or _BY_TYPE[column.type] for column in fields(kind)
    }
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        if rows.fieldnames != [*read]:
            raise ValueError(f"`{path}` has other columns: {rows.fieldnames}")
        return tuple(kind(**{name: read[name](row[name]) for name in read}) for row in rows)
