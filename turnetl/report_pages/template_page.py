"""Two templates on the same turns, as one HTML page."""

from collections.abc import Iterator
from dataclasses import dataclass

from turnetl.base.text import format_minute, plural
from turnetl.evaluation.compare_templates import (
    ComparedTemplate,
    DistinctFact,
    LabelScore,
    TemplateComparison,
)
from turnetl.html import pages
from turnetl.html.references import SourceLines, source_lines
from turnetl.views.templates import (
    comparison_messages,
    comparison_rows,
    comparison_summary,
    comparison_titles,
)

_PAGE = "template_comparison.html"


@dataclass(frozen=True, slots=True)
class _Side:
    """One template as the page shows it."""

    letter: str
    template: ComparedTemplate
    facts: list["_FactRow"]
    labels: list[tuple[str, ...]]
    label_summary: str
    junk: list[str]
    discarded: list[str]


@dataclass(frozen=True, slots=True)
class _FactRow:
    """A fact and where its turn begins."""

    fact: DistinctFact
    lines: SourceLines


def template_page(report: TemplateComparison) -> str:
    return pages.render(
        pages.environment(),
        _PAGE,
        title=f"Two templates on the same turns of {report.group}",
        summary=_summary(report),
        messages=list(comparison_messages(report)),
        titles=list(comparison_titles(report)),
        rows=comparison_rows(report),
        sides=[_side(letter, one) for letter, one in zip("AB", report.templates, strict=True)],
        turns=list(_turns(report)),
    )


def _summary(report: TemplateComparison) -> str:
    return (
        f"{plural(len(report.turns), 'turn')} of {report.candidates:,}, drawn by kind and length "
        f"with seed {report.seed}, compared at {format_minute(report.compared_at)} UTC; "
        f"{comparison_summary(report)}"
    )


def _side(letter: str, one: ComparedTemplate) -> _Side:
    return _Side(
        letter=letter,
        template=one,
        facts=[
            _FactRow(fact, source_lines(fact.archive, fact.first_line, fact.first_line))
            for fact in one.only_facts
        ],
        labels=[] if one.labels is None else list(_labels(one.labels)),
        label_summary="" if one.labels is None else _label_summary(one.labels),
        junk=[f"{name} ({reason.value})" for reason, names in one.junk.items() for name in names],
        discarded=[f"{count:,} {reason.value}" for reason, count in one.discarded.items()],
    )


def _labels(score: LabelScore) -> Iterator[tuple[str, ...]]:
    for one in sorted(score.checked, key=lambda one: one.is_found):
        found = "yes" if one.is_found else "no"
        yield one.expected.text, found, one.nearest or "-", f"{one.similarity:.2f}"


def _label_summary(score: LabelScore) -> str:
    found = sum(one.is_found for one in score.checked)
    return (
        f"Labels found: {found:,} of {len(score.checked):,}; {score.matching:,} of "
        f"{plural(score.extracted, 'fact')} of their turns are labelled"
    )


def _turns(report: TemplateComparison) -> Iterator[tuple[str, ...]]:
    for turn in report.turns:
        place = f"{turn.archive}:{turn.first_line}"
        yield format_minute(turn.started_at), turn.kind, place, f"{turn.chars:,}"
