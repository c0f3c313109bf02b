"""The check of a model: which prompts it can complete."""

from turnetl.base.exit_code import ExitCode
from turnetl.base.text import format_cost
from turnetl.llm.checks import ModelCheck
from turnetl.views import costs
from turnetl.views.nodes import Caption, Column, Frame, Table, View, numbers

_COLUMNS = numbers("calls", "tokens\nin", "tokens\nout", "seconds", "cost")


def view(report: ModelCheck) -> View:
    several = len(report.models) > 1
    rows = []
    for result in report.checks:
        model = (result.model.replace("/", "/\n", 1),) if several else ()
        prompt = result.prompt_name.replace(" ", "\n", 1)
        rows.append(
            (
                prompt,
                *model,
                f"{result.usage.calls:,}",
                *costs.amount_cells(result.usage),
                result.problem or "-",
            )
        )
    columns = (
        Column("prompt", is_wrapped=False, breaks="."),
        *([Column("model")] if several else ()),
        *_COLUMNS,
        Column("problem"),
    )
    return [Table(columns, rows, Frame.NONE), Caption(_summary(report))]


def messages(report: ModelCheck) -> list[str]:
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
