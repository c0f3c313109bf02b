"""The check of a model: which prompts it can complete."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from turnetl.base.exit_code import ExitCode
from turnetl.base.model import Usage
from turnetl.base.text import format_cost
from turnetl.llm.checks.result import ModelCheck
from turnetl.report.layout import caption

_COLUMNS = ("calls", "tokens\nin", "tokens\nout", "seconds", "cost")


def table(report: ModelCheck) -> RenderableType:
    """Render a row per prompt; with several models also which one was checked."""
    models = report.models
    view = Table(box=None, padding=(0, 2, 0, 0))  # narrow enough for a terminal
    view.add_column("prompt", no_wrap=True)
    if len(models) > 1:
        view.add_column("model", overflow="fold")
    for name in _COLUMNS:
        view.add_column(name, justify="right")
    view.add_column("problem", overflow="fold")
    for result in report.checks:
        model = (result.model.replace("/", "/\n", 1),) if len(models) > 1 else ()
        prompt = Text(result.prompt_name.replace(".", ".\n").replace(" ", "\n", 1))
        view.add_row(prompt, *model, *_cells(result.usage), Text(result.problem or "-"))
    return Group(view, caption(_summary(report)))


def messages(report: ModelCheck) -> list[str]:
    """Return a sentence per failed check."""
    failed = (check for check in report.checks if not check.passed)
    return [f"`{check.prompt_name}`: {check.problem}" for check in failed]


def exit_code(report: ModelCheck) -> ExitCode:
    return ExitCode.DONE if report.passed else ExitCode.FAILED


def _summary(report: ModelCheck) -> str:
    names = "`" + "`, `".join(report.models) + "`"
    if report.passed:
        cost = report.usage.cost
        price = "" if cost is None else f"; the check cost {format_cost(cost)}"
        return f"{names} can complete every prompt of a run{price}"
    passed, count = sum(check.passed for check in report.checks), len(report.checks)
    return f"{names} can complete {passed} of {count} prompts: set another model for the others"


def _cells(usage: Usage) -> tuple[str, ...]:
    return (
        f"{usage.calls:,}",
        f"{usage.prompt_tokens:,}",
        f"{usage.completion_tokens:,}",
        f"{usage.seconds:.1f}",
        format_cost(usage.cost),
    )
