"""What a model can do of what a run asks of it: a table, and the JSON that others use."""

from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from turnetl.llm.checks.result import CheckResult
from turnetl.model import Usage
from turnetl.report import costs


def table(found: Sequence[CheckResult]) -> RenderableType:
    """One row a kind of call."""
    models = sorted({one.model for one in found})
    shown = Table(
        box=None,
        padding=(0, 2, 0, 0),  # narrow enough for a terminal
        caption=_caption(found, models),
        caption_justify="left",
    )
    shown.add_column("call", no_wrap=True)
    if len(models) > 1:
        shown.add_column("model", overflow="fold")
    for name in ("asked", "tokens\nin", "tokens\nout", "seconds", "cost"):
        shown.add_column(name, justify="right")
    shown.add_column("what it cannot do", overflow="fold")
    for one in found:
        model = (one.model.replace("/", "/\n", 1),) if len(models) > 1 else ()
        call = Text(one.prompt.replace(".", ".\n").replace(" ", "\n", 1))
        shown.add_row(call, *model, *_cells(one.usage), Text(one.problem or "-"))
    return shown


def as_json(found: Sequence[CheckResult]) -> dict[str, Any]:
    return {
        "fits": all(one.fits for one in found),
        "models": sorted({one.model for one in found}),
        "usage": costs.as_json(_total(found)),
        "checks": [
            {
                "prompt": one.prompt,
                "model": one.model,
                "fits": one.fits,
                "problem": one.problem or None,
                **costs.as_json(one.usage),
            }
            for one in found
        ],
    }


def sentences(found: Sequence[CheckResult]) -> list[str]:
    """What cannot be done."""
    return [f"`{one.prompt}`: {one.problem}" for one in found if not one.fits]


def exit_code(found: Sequence[CheckResult]) -> int:
    return 0 if all(one.fits for one in found) else 1


def _caption(found: Sequence[CheckResult], models: Sequence[str]) -> str:
    who = "`" + "`, `".join(models) + "`"
    able = sum(one.fits for one in found)
    if able == len(found):
        cost = _total(found).cost
        price = "" if cost is None else f"; to know it cost {costs.money(cost)}"
        return f"{who} can do all that a run asks of it{price}"
    return f"{who} can do {able} of {len(found)} kinds of calls: name another model for the rest"


def _total(found: Sequence[CheckResult]) -> Usage:
    return sum((one.usage for one in found), Usage())


def _cells(usage: Usage) -> tuple[str, ...]:
    return (
        f"{usage.calls:,}",
        f"{usage.prompt_tokens:,}",
        f"{usage.completion_tokens:,}",
        f"{usage.seconds:.1f}",
        costs.money(usage.cost),
    )
