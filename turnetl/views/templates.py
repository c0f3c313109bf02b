"""Templates and ontologies: which files are used, what they cost, and their diagnostics."""

from collections.abc import Sequence
from pathlib import Path

from turnetl.base.errors import BadUsage
from turnetl.base.exit_code import ExitCode
from turnetl.base.text import plural
from turnetl.extraction.catalog import CatalogEntry
from turnetl.views.nodes import Column, Table, View, numbers, unwrapped

_DIGITS = 8
_STYLES = {"error": "red", "warning": "yellow"}

_COLUMNS = (
    *(Column("template", is_wrapped=False), Column("source"), Column("digest", is_wrapped=False)),
    *(*numbers("tokens\nper turn"), Column("used for")),
)


def view(entries: Sequence[CatalogEntry]) -> View:
    overridden = [
        unwrapped(f"{entry.path} overrides {path}") for entry in entries for path in entry.overrides
    ]
    return [Table(_COLUMNS, [*map(_row, entries)]), *overridden, _list_summary(entries)]


def text(entry: CatalogEntry) -> str:
    """Return what a model receives from the template; BadUsage says why it receives none."""
    if entry.prompt_text:
        return entry.prompt_text
    reason = next(
        (diagnostic.message for diagnostic in entry.diagnostics), "gives the model no text"
    )
    raise BadUsage(f"template `{entry.path or entry.name}` {reason}")


def diagnostics(entries: Sequence[CatalogEntry]) -> View:
    lines = [
        unwrapped(
            f"{entry.path or entry.name}: ",
            (diagnostic.severity, _STYLES[diagnostic.severity]),
            f": {diagnostic.message}",
        )
        for entry in entries
        for diagnostic in entry.diagnostics
    ]
    return [*lines, _check_summary(entries)]


def copied(path: Path, name: str) -> View:
    return [unwrapped(f"{path}\nEdit it, then check it: turnetl templates check {name}")]


def exit_code(entries: Sequence[CatalogEntry]) -> ExitCode:
    return ExitCode.FAILED if any(entry.is_broken for entry in entries) else ExitCode.DONE


def _row(entry: CatalogEntry) -> tuple[str, ...]:
    tokens = f"{entry.tokens_per_turn:,}" if entry.prompt_text else ""
    used_for = ", ".join(entry.used_for) or "-"
    source = entry.source or "missing"
    broken = " (broken)" if entry.is_broken and entry.path is not None else ""
    return (entry.name, source + broken, entry.digest[:_DIGITS], tokens, used_for)


def _list_summary(entries: Sequence[CatalogEntry]) -> str:
    broken = sum(entry.is_broken for entry in entries)
    summary = "Tokens are estimates. `turnetl templates show NAME` prints what the model receives"
    if not broken:
        return f"{summary}."
    return f"{summary}; {broken} cannot be used as intended: see `turnetl templates check`."


def _check_summary(entries: Sequence[CatalogEntry]) -> str:
    severities = [diagnostic.severity for entry in entries for diagnostic in entry.diagnostics]
    counts = [
        plural(severities.count(severity), severity)
        for severity in _STYLES
        if severity in severities
    ]
    return f"{plural(len(entries), 'template')} checked: {', '.join(counts) or 'no diagnostics'}."
