"""Noise rules: all of them, and what one of them matches."""

from collections.abc import Iterator
from pathlib import Path

from rich.box import SIMPLE
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from turnetl.base.text import plural
from turnetl.episodes.rule_examples import RuleCounts, RuleExample, RuleExplanation
from turnetl.noise import NoiseRule, RulesReport
from turnetl.report.layout import add_group_column, relative_path, unwrapped

_LONGEST = 150
"""Characters of a prompt or a response that are printed."""
_EMPTY = "(empty)"


def rules_table(report: RulesReport) -> RenderableType:
    """Render a row per rule, in the order of precedence."""
    view = Table(box=SIMPLE, pad_edge=False)
    view.add_column("rule", no_wrap=True)
    view.add_column("active", no_wrap=True)
    view.add_column("description")
    for listed in report.rules:
        active = "yes" if listed.active else "no"
        view.add_row(Text(listed.rule.name), active, Text(listed.rule.description))
    return Group(view, Text("`turnetl filter --explain RULE` shows what a rule marks"))


def table(explanation: RuleExplanation, directory: Path) -> RenderableType:
    """Render the rule, a row per group in which it matches turns, and examples.

    Args:
        explanation: the rule and its matches.
        directory: paths below it are printed relative to it.
    """
    rule = explanation.rule
    head = Text(f"{_title(rule)}: {_state(explanation)}\n{rule.description}")
    if not explanation.turns:
        return Group(head, Text(_no_match(explanation)))
    examples = (line for example in explanation.examples for line in _example(example, directory))
    return Group(head, _group_table(explanation), *examples)


def _title(rule: NoiseRule) -> str:
    return f"{rule.name} (your own)" if rule.is_own else f"{rule.name}, version {rule.version}"


def _state(explanation: RuleExplanation) -> str:
    if explanation.active:
        return "active; it marks these turns"
    if explanation.rule.enabled_by_default:
        return "disabled in this run or in the settings; it would mark these turns"
    return f"inactive; with --enable-rule {explanation.rule.name} it would mark these turns"


def _no_match(explanation: RuleExplanation) -> str:
    if not explanation.groups:
        return "no turns yet: run `turnetl parse ARCHIVES`"
    return f"it matches nothing in {plural(len(explanation.groups), 'group')}"


def _group_table(explanation: RuleExplanation) -> Table:
    groups = [group for group in explanation.groups if group.turns]
    view = Table(box=SIMPLE, pad_edge=False)
    add_group_column(view)
    for name in ("turns matched", "turns marked", "chars"):
        view.add_column(name, justify="right")
    for group in groups:
        view.add_row(Text(group.group), *_cells(group))
    if len(groups) > 1:
        view.add_section()
        view.add_row(plural(len(groups), "group"), *_cells(explanation))
    return view


def _cells(counts: RuleCounts | RuleExplanation) -> Iterator[str]:
    return (f"{number:,}" for number in (counts.turns, counts.attributed, counts.chars))


def _example(example: RuleExample, directory: Path) -> Iterator[RenderableType]:
    started = example.started_at
    time = f"{started:%Y-%m-%d %H:%M}" if started is not None else "no time"
    path = relative_path(Path(example.archive), directory)
    yield Text(f"{time}  {example.group}  session {example.session_id}")
    yield unwrapped(f"  {path}:{example.first_line}-{example.last_line}")
    yield Padding(Text(f"user: {_excerpt(example.prompt)}"), (0, 0, 0, 2), expand=False)
    yield Padding(Text(f"assistant: {_excerpt(example.response)}"), (0, 0, 1, 2), expand=False)


def _excerpt(text: str) -> str:
    excerpt = text if len(text) <= _LONGEST else f"{text[:_LONGEST].rstrip()}…"
    return excerpt or _EMPTY
