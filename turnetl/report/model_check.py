"""The check of a model: which prompts it can complete."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from turnetl.base.exit_code import ExitCode
from turnetl.base.model import Usage
from turnetl.base.text import format_cost
from turnetl.llm.checks.result import CheckResult
from turnetl.report.layout import caption

_COLUMNS = ("calls", "tokens\nin", "tokens\nout", "seconds", "cost")


def table(results: Sequence[CheckResult]) -> RenderableType:
    """Render a row per prompt; with several models also which one was checked."""
    models = sorted({result.model for result in results})
    view = Table(box=None, padding=(0, 2, 0, 0))  # narrow enough for a terminal
    view.add_column("prompt", no_wrap=True)
    if len(models) > 1:
        view.add_column("model", overflow="fold")
    for name in _COLUMNS:
        view.add_column(name, justify="right")
    view.add_column("problem", overflow="fold")
    for result in results:
        model = (result.model.replace("/", "/\n", 1),) if len(models) > 1 else ()
        prompt = Text(result.prompt_name.replace(".", ".\n").replace(" ", "\n", 1))
        view.add_row(prompt, *model, *_cells(result.usage), Text(result.problem or "-"))
    return Group(view, caption(_summary(results, models)))


def messages(results: Sequence[CheckResult]) -> list[str]:
    """Return a sentence per failed check."""
    return [f"`{result.prompt_name}`: {result.problem}" for result in results if not result.passed]


def exit_code(results: Sequence[CheckResult]) -> ExitCode:
    return ExitCode.DONE if all(result.passed for result in results) else ExitCode.FAILED


def _summary(results: Sequence[CheckResult], models: Sequence[str]) -> str:
    names = "`" + "`, `".join(models) + "`"
    passed = sum(result.passed for result in results)
    if passed == len(results):
        cost = sum((result.usage for result in results), Usage()).cost
        price = "" if cost is None else f"; the check cost {format_cost(cost)}"
        return f"{names} can complete every prompt of a run{price}"
    return (
        f"{names} can complete {passed} of {len(results)} prompts: set another model for the others"
    )


def _cells(usage: Usage) -> tuple[str, ...]:
    return (
        f"{usage.calls:,}",
        f"{usage.prompt_tokens:,}",
        f"{usage.completion_tokens:,}",
        f"{usage.seconds:.1f}",
        format_cost(usage.cost),
    )
