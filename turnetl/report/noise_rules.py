"""Noise rules: which there are, and what one of them marks."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.box import SIMPLE
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from turnetl.episodes.rule_examples import RuleCounts, RuleExample, RuleExplanation
from turnetl.noise import NoiseRule
from turnetl.report.search_hits import near

_LONGEST = 150
"""Characters of a prompt or an answer that are shown."""
_EMPTY = "(nothing)"


def rules_table(known: Sequence[NoiseRule], on: Collection[str]) -> RenderableType:
    """A row a rule, in the order in which they name a turn; `on` are the names of those on."""
    shown = Table(box=SIMPLE, pad_edge=False)
    shown.add_column("rule", no_wrap=True)
    shown.add_column("marks", no_wrap=True)
    shown.add_column("what it marks, and why")
    for rule in known:
        shown.add_row(Text(rule.name), "yes" if rule.name in on else "no", Text(rule.why))
    return Group(shown, Text("`turnetl filter --explain RULE` shows what a rule marks"))


def rules_json(known: Sequence[NoiseRule], on: Collection[str]) -> dict[str, Any]:
    return {"rules": [_rule_json(rule, on=rule.name in on) for rule in known]}


def table(explained: RuleExplanation, here: Path) -> RenderableType:
    """What the rule is, a row for each group in which it marks something, and the examples."""
    head = Text(f"{_name(explained.rule)}: {_standing(explained)}\n{explained.rule.why}")
    marked = [group for group in explained.groups if group.turns]
    if not marked:
        return Group(head, Text(_nothing(explained)))
    examples = (line for one in explained.examples for line in _example(one, here))
    return Group(head, _counts(marked), *examples)


def as_json(explained: RuleExplanation) -> dict[str, Any]:
    return {
        **_rule_json(explained.rule, on=explained.active),
        "turns": sum(group.turns for group in explained.groups),
        "named": sum(group.attributed for group in explained.groups),
        "chars": sum(group.chars for group in explained.groups),
        "groups": [
            {
                "group": group.group,
                "turns": group.turns,
                "named": group.attributed,
                "chars": group.chars,
            }
            for group in explained.groups
        ],
        "examples": [_example_json(one) for one in explained.examples],
    }


def _rule_json(rule: NoiseRule, *, on: bool) -> dict[str, Any]:
    return {
        "rule": rule.name,
        "version": rule.recipe.removeprefix(f"{rule.name}/"),
        "why": rule.why,
        "on": on,
        "own": bool(rule.definition),
    }


def _name(rule: NoiseRule) -> str:
    return f"{rule.name} (your own)" if rule.definition else f"{rule.name}, version {rule.version}"


def _standing(explained: RuleExplanation) -> str:
    if explained.active:
        return "it marks turns"
    if explained.rule.on_by_default:
        return "kept, so it marks nothing; this is what it would mark"
    return f"off; this is what it would mark with --drop {explained.rule.name}"


def _nothing(explained: RuleExplanation) -> str:
    if not explained.groups:
        return "no turns yet: run `turnetl parse ARCHIVES`"
    return f"it marks nothing in {_groups(len(explained.groups))}"


def _groups(number: int) -> str:
    return "1 group" if number == 1 else f"{number:,} groups"


def _counts(marked: Sequence[RuleCounts]) -> Table:
    shown = Table(box=SIMPLE, pad_edge=False)
    shown.add_column("group", overflow="fold")
    for name in ("turns by itself", "named by it now", "chars"):
        shown.add_column(name, justify="right")
    rows = [(group.turns, group.attributed, group.chars) for group in marked]
    for group, row in zip(marked, rows, strict=True):
        shown.add_row(Text(group.group), *(f"{number:,}" for number in row))
    if len(marked) > 1:
        shown.add_section()
        totals = (f"{sum(column):,}" for column in zip(*rows, strict=True))
        shown.add_row(_groups(len(marked)), *totals)
    return shown


def _example(example: RuleExample, here: Path) -> Iterator[RenderableType]:
    at = example.started_at
    when = f"{at:%Y-%m-%d %H:%M}" if at is not None else "no date"
    place = f"{near(Path(example.archive), here)}:{example.first_line}-{example.last_line}"
    yield Text(f"{when}  {example.group}  session {example.session_id}")
    # A path is there to be copied: it is never broken.
    yield Text(f"  {place}", no_wrap=True, overflow="ignore")
    yield Padding(Text(f"user: {_short(example.prompt)}"), (0, 0, 0, 2), expand=False)
    yield Padding(Text(f"assistant: {_short(example.answer)}"), (0, 0, 1, 2), expand=False)


def _short(text: str) -> str:
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST].rstrip()}…"
    return shown or _EMPTY


def _example_json(example: RuleExample) -> dict[str, Any]:
    at = example.started_at
    return {
        "group": example.group,
        "started_at": at.isoformat() if at else None,
        "session_id": example.session_id,
        "turn_id": example.turn_id,
        "prompt": example.prompt,
        "answer": example.answer,
        "archive": example.archive,
        "first_line": example.first_line,
        "last_line": example.last_line,
    }
