"""Templates and ontologies: which file wins, what it costs, what is wrong with it."""

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from turnetl.errors import BadUsage
from turnetl.extraction.catalog import CatalogEntry

_DIGITS = 8
"""Of a digest."""
_GRADES = {"error": "red", "warning": "yellow"}


def table(entries: Sequence[CatalogEntry]) -> RenderableType:
    """A row a template; below them what they hide."""
    shown = Table()
    shown.add_column("template", no_wrap=True)
    shown.add_column("from", overflow="fold")
    shown.add_column("digest", no_wrap=True)
    shown.add_column("tokens\na turn", justify="right")
    shown.add_column("used for", overflow="fold")
    for entry in entries:
        shown.add_row(*map(Text, _row(entry)))
    hidden = [_line(f"{entry.path} hides {path}") for entry in entries for path in entry.hides]
    return Group(shown, *hidden, Text(_caption(entries)))


def text(entry: CatalogEntry) -> str:
    """Return the very text that a model gets of it.

    Raises:
        BadUsage: it gets none; says why.
    """
    if entry.told:
        return entry.told
    why = next((finding.text for finding in entry.findings), "tells the model nothing")
    raise BadUsage(f"template `{entry.path or entry.name}` {why}")


def findings(entries: Sequence[CatalogEntry]) -> RenderableType:
    """A line for each thing that is wrong; one that says how much was looked at."""
    lines = [
        _line(
            f"{entry.path or entry.name}: ",
            (finding.grade, _GRADES[finding.grade]),
            f": {finding.text}",
        )
        for entry in entries
        for finding in entry.findings
    ]
    return Group(*lines, Text(_judgement(entries)))


def exit_code(entries: Sequence[CatalogEntry]) -> int:
    """Return 1 if one of them is not used as it was meant."""
    return int(any(entry.is_broken for entry in entries))


def as_json(entries: Sequence[CatalogEntry]) -> dict[str, Any]:
    return {"templates": [_json(entry) for entry in entries]}


def _line(*parts: str | tuple[str, str]) -> Text:
    """Return a line that is never broken: it holds paths, and who reads it may be a program."""
    return Text.assemble(*parts, no_wrap=True, overflow="ignore")


def _json(entry: CatalogEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "path": str(entry.path) if entry.path is not None else None,
        "from": entry.place,
        "hides": [str(path) for path in entry.hides],
        "digest": entry.digest,
        "tokens_a_call": entry.tokens_a_call,
        "tokens_a_turn": entry.tokens_a_turn,
        "used_for": list(entry.used_for),
        "findings": [{"grade": one.grade, "text": one.text} for one in entry.findings],
        "text": entry.told,
    }


def _row(entry: CatalogEntry) -> tuple[str, ...]:
    tokens = f"{entry.tokens_a_turn:,}" if entry.told else ""
    used = ", ".join(entry.used_for) or "-"
    place = entry.place or "nowhere"
    broken = " (broken)" if entry.is_broken and entry.path is not None else ""
    return (entry.name, place + broken, entry.digest[:_DIGITS], tokens, used)


def _caption(entries: Sequence[CatalogEntry]) -> str:
    broken = sum(entry.is_broken for entry in entries)
    said = "Tokens are estimates. `turnetl templates show NAME` prints what a model is told"
    if not broken:
        return f"{said}."
    return f"{said}; `turnetl templates check` says what is wrong with {broken} of them."


def _judgement(entries: Sequence[CatalogEntry]) -> str:
    grades = [finding.grade for entry in entries for finding in entry.findings]
    counted = ", ".join(
        f"{grades.count(grade)} {grade}{'' if grades.count(grade) == 1 else 's'}"
        for grade in _GRADES
        if grade in grades
    )
    looked = f"{len(entries)} template{'' if len(entries) == 1 else 's'} checked"
    return f"{looked}: {counted or 'nothing is wrong'}."
