"""Templates and ontologies: their cost, their diagnostics, and two templates on the same turns."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from turnetl.base.errors import BadUsage
from turnetl.base.exit_code import ExitCode
from turnetl.base.text import format_cost, plural
from turnetl.evaluation.compare_templates import ComparedTemplate, TemplateComparison
from turnetl.extraction.catalog import CatalogEntry
from turnetl.views.costs import UNKNOWN, total
from turnetl.views.migration import percent
from turnetl.views.nodes import Caption, Column, Node, Table, View, limited, numbers, unwrapped

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


_LISTED = 5
"""Facts and names of each template that are printed; `--json` and `--output` have all."""


def comparison_view(report: TemplateComparison) -> View:
    columns = (Column(), *numbers(*comparison_titles(report)))
    turns = f"{plural(len(report.turns), 'turn')} of {report.candidates:,}, seed {report.seed}"
    table = Table(columns, comparison_rows(report), title=f"{report.group}: {turns}")
    return [table, *_only(report), Caption(comparison_summary(report))]


def comparison_titles(report: TemplateComparison) -> tuple[str, str]:
    first, second = report.templates
    return f"A: {first.name}", f"B: {second.name}"


def comparison_rows(report: TemplateComparison) -> list[tuple[str, str, str]]:
    """Return the figures side by side: name, first and second template."""
    first, second = (_figures(one) for one in report.templates)
    return [(name, value, second[name]) for name, value in first.items()]


def comparison_summary(report: TemplateComparison) -> str:
    paid = total(report.paid)
    return (
        f"model {report.model}; {plural(paid.calls, 'request')} sent now, "
        f"{paid.tokens:,} tokens, cost {format_cost(paid.cost)}; the journal had the other "
        f"responses. Two facts say the same if they share an entity and their cosine is at "
        f"least {report.fact_similarity:g}."
    )


def _figures(one: ComparedTemplate) -> dict[str, str]:
    dates, labels = one.dates, one.labels
    figures = {
        "entities": f"{one.entities:,}",
        "entities, only here": f"{len(one.only_entities):,}",
        "facts": f"{one.facts:,}",
        "facts, only here": f"{len(one.only_facts):,}",
        "facts invalidated": f"{one.invalidated:,}",
        "dated by their turn": f"{dates.within:,}",
        "dated before it": f"{dates.before:,}",
        "dated after it": f"{dates.after:,}",
        "without a date": f"{dates.undated:,}",
        "junk discarded": f"{sum(one.discarded.values()):,}",
        "junk kept": f"{sum(map(len, one.junk.values())):,}",
        "turns that fail": f"{len(one.failed):,}",
        "tokens of the template": f"{one.tokens:,}",
        "tokens in": f"{one.usage.prompt_tokens:,}",
        "tokens out": f"{one.usage.completion_tokens:,}",
        "cost": format_cost(one.usage.cost),
    }
    if labels is not None:
        figures["labels found (recall)"] = percent(labels.recall)
        figures["labelled facts (precision)"] = percent(labels.precision)
    return figures


def _only(report: TemplateComparison) -> Iterator[Node]:
    for name, one in zip("AB", report.templates, strict=True):
        found = [f"only {name}: {fact.text}" for fact in one.only_facts]
        yield from limited(found, str, _LISTED)


def comparison_messages(report: TemplateComparison) -> Iterator[str]:
    if report.stopped is not None:
        yield (
            f"{report.stopped}: {len(report.turns):,} of {plural(report.sampled, 'turn')} are "
            "compared; the same command continues with the responses that are paid for"
        )
    for name, one in zip("AB", report.templates, strict=True):
        for turn in one.failed:
            yield (
                f"turn {turn.turn_id} is not compared: it cannot be ingested with {name}, "
                f"`{one.name}`: {turn.reason}"
            )
    if report.unused_labels:
        yield (
            f"{plural(report.unused_labels, 'label')} of turns that are not compared: a larger "
            "--sample has them"
        )
    if any(one.usage.cost is None for one in report.templates):
        yield UNKNOWN
    if not report.turns and report.stopped is None:
        yield "no turn could be compared"
