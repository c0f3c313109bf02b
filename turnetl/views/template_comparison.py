"""Two templates on the same turns."""

from collections.abc import Iterator

from turnetl.base.text import format_cost, plural
from turnetl.evaluation.compare_templates import ComparedTemplate, TemplateComparison
from turnetl.views.costs import UNKNOWN, total
from turnetl.views.migration_comparison import percent
from turnetl.views.nodes import Caption, Column, Node, Table, View, limited, numbers

_LISTED = 5
"""Facts and names of each template that are printed; `--json` and `--output` have all."""


def view(report: TemplateComparison) -> View:
    columns = (Column(), *numbers(*titles(report)))
    turns = f"{plural(len(report.turns), 'turn')} of {report.candidates:,}, seed {report.seed}"
    table = Table(columns, rows(report), title=f"{report.group}: {turns}")
    return [table, *_only(report), Caption(summary(report))]


def titles(report: TemplateComparison) -> tuple[str, str]:
    first, second = report.templates
    return f"A: {first.name}", f"B: {second.name}"


def rows(report: TemplateComparison) -> list[tuple[str, str, str]]:
    """Return the figures side by side: name, first and second template."""
    first, second = (_figures(one) for one in report.templates)
    return [(name, value, second[name]) for name, value in first.items()]


def summary(report: TemplateComparison) -> str:
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


def messages(report: TemplateComparison) -> Iterator[str]:
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
