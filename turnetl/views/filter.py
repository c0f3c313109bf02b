"""The filter: what it kept and marked. Its noise rules, and what one of them matches."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from turnetl.base.text import plural
from turnetl.episodes.filter_report import FilteredGroup, FilterReport, KeptTurns, MarkedTurns
from turnetl.noise import NoiseRule, RulesReport
from turnetl.views.nodes import (
    Column,
    Frame,
    LineRange,
    Lines,
    Node,
    Table,
    View,
    counted,
    line,
    numbers,
    unwrapped,
)
from turnetl.views.parse import removed_files

if TYPE_CHECKING:  # importing these takes a moment, which an unchanged backfill must not spend
    from turnetl.episodes.rule_examples import RuleCounts, RuleExample, RuleExplanation

_COLUMNS = (
    Column("group\n  rule"),
    *numbers("turns", "chars\nbefore", "after", "tokens", "tokens\nsaved"),
)


def view(report: FilterReport) -> View:
    """Return a row per group, below it one for its kept turns and one per rule; then the sum."""
    if not report.groups:
        return [_summary(report)]
    rows = [row for group in report.groups for row in _rows(group.group, group)]
    if len(report.groups) > 1:
        rows += [(), *_rows(f"all {len(report.groups)} groups", report)]
    return [Table(_COLUMNS, rows, Frame.HEAD, padding=1), _summary(report)]


def repeated(report: FilterReport) -> list[str]:
    """Return how many turns occur in other archives too, where they are not counted."""
    found = []
    if report.copies:
        copies = plural(report.copies, "copy", "copies")
        found.append(f"{copies} of these turns in other archives not counted")
    if report.variants:
        variants = plural(report.variants, "variant", "variants")
        found.append(f"{variants} with another text in other archives not kept")
    return found


def _rows(name: str, counts: FilteredGroup | FilterReport) -> Iterator[Sequence[Node]]:
    yield line((name, "bold")), *_cells(counts)
    yield "  kept", *_cells(counts.kept_turns)
    for rule, turns in counts.marked_turns.items():
        yield f"  {rule}", *_cells(turns)


def _cells(counts: FilteredGroup | FilterReport | KeptTurns | MarkedTurns) -> tuple[str, ...]:
    tokens = 0 if isinstance(counts, MarkedTurns) else counts.tokens
    return counted(
        (counts.turns, counts.chars_before, counts.chars_after, tokens, counts.tokens_saved)
    )


def _summary(report: FilterReport) -> str:
    if not report.groups:
        return "no turns yet: run `turnetl parse ARCHIVES`"
    parts = ["tokens are estimates"]
    parts += repeated(report)
    if report.removed_temporary_files:
        parts.append(removed_files(report.removed_temporary_files))
    if all(group.unchanged for group in report.groups):
        parts.insert(0, "nothing new")
    return "; ".join(parts)


_LONGEST = 150
"""Characters of a prompt or a response that are printed."""
_EMPTY = "(empty)"


def rules_view(report: RulesReport) -> View:
    columns = (
        *(Column(name, is_wrapped=False) for name in ("rule", "active")),
        Column("description"),
    )
    rows = [
        (listed.rule.name, "yes" if listed.active else "no", listed.rule.description)
        for listed in report.rules
    ]
    hint = "`turnetl filter --explain RULE` shows what a rule marks"
    return [Table(columns, rows, Frame.HEAD), hint]


def rule_view(explanation: "RuleExplanation") -> View:
    rule = explanation.rule
    head = f"{_title(rule)}: {_state(explanation)}\n{rule.description}"
    if not explanation.turns:
        return [head, _no_match(explanation)]
    examples = (node for example in explanation.examples for node in _example(example))
    return [head, _group_table(explanation), *examples]


def _title(rule: NoiseRule) -> str:
    return f"{rule.name} (your own)" if rule.is_own else f"{rule.name}, version {rule.version}"


def _state(explanation: "RuleExplanation") -> str:
    if explanation.active:
        return "active; it marks these turns"
    if explanation.rule.enabled_by_default:
        return "disabled in this run or in the settings; it would mark these turns"
    return f"inactive; with --enable-rule {explanation.rule.name} it would mark these turns"


def _no_match(explanation: "RuleExplanation") -> str:
    if not explanation.groups:
        return "no turns yet: run `turnetl parse ARCHIVES`"
    return f"it matches nothing in {plural(len(explanation.groups), 'group')}"


def _group_table(explanation: "RuleExplanation") -> Table:
    groups = [group for group in explanation.groups if group.turns]
    rows: list[tuple[str, ...]] = [(group.group, *_rule_cells(group)) for group in groups]
    if len(groups) > 1:
        rows += [(), (plural(len(groups), "group"), *_rule_cells(explanation))]
    columns = (Column("group"), *numbers("turns matched", "turns marked", "chars"))
    return Table(columns, rows, Frame.HEAD)


def _rule_cells(counts: "RuleCounts | RuleExplanation") -> tuple[str, ...]:
    return counted((counts.turns, counts.attributed, counts.chars))


def _example(example: "RuleExample") -> Iterator[Node]:
    started = example.started_at
    time = f"{started:%Y-%m-%d %H:%M}" if started is not None else "no time"
    yield f"{time}  {example.group}  session {example.session_id}"
    place = LineRange(example.archive, example.first_line, example.last_line)
    yield unwrapped("  ", place)
    prompt, response = _excerpt(example.prompt), _excerpt(example.response)
    yield Lines([f"user: {prompt}", f"assistant: {response}", ""], indent=2)


def _excerpt(text: str) -> str:
    excerpt = text if len(text) <= _LONGEST else f"{text[:_LONGEST].rstrip()}…"
    return excerpt or _EMPTY
