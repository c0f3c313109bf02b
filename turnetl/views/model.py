"""The check of a model: which prompts it can complete. The journal of its responses."""

from turnetl.base.exit_code import ExitCode
from turnetl.base.text import format_cost, plural, size
from turnetl.llm.checks import ModelCheck
from turnetl.llm.journal import JournalStats, PruneResult
from turnetl.views import costs
from turnetl.views.nodes import Caption, Column, Frame, Table, View, numbers

_CHECK_COLUMNS = numbers("calls", "tokens\nin", "tokens\nout", "seconds", "cost")


def check_view(report: ModelCheck) -> View:
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
        *_CHECK_COLUMNS,
        Column("problem"),
    )
    return [Table(columns, rows, Frame.NONE), Caption(_check_summary(report))]


def check_messages(report: ModelCheck) -> list[str]:
    failed = (check for check in report.checks if not check.passed)
    return [f"`{check.prompt_name}`: {check.problem}" for check in failed]


def check_exit_code(report: ModelCheck) -> ExitCode:
    return ExitCode.DONE if report.passed else ExitCode.FAILED


def _check_summary(report: ModelCheck) -> str:
    names = "`" + "`, `".join(report.models) + "`"
    if report.passed:
        cost = report.usage.cost
        price = "" if cost is None else f"; the check cost {format_cost(cost)}"
        return f"{names} can complete every prompt of a run{price}"
    passed, count = sum(check.passed for check in report.checks), len(report.checks)
    return f"{names} can complete {passed} of {count} prompts: set another model for the others"


_JOURNAL_COLUMNS = numbers("responses", "tokens\nin", "tokens\nout", "seconds", "cost", "hits")


def journal_view(stats: JournalStats) -> View:
    if not stats.total.entries:
        return [f"no responses in {stats.path}"]
    counts = [*stats.by_prompt.items(), *stats.by_model.items(), ("all", stats.total)]
    rows = [
        (name or "-", f"{one.entries:,}", *costs.amount_cells(one.usage), f"{one.hits:,}")
        for name, one in counts
    ]
    table = Table((Column("prompt, model", breaks="."), *_JOURNAL_COLUMNS), rows, Frame.NONE)
    return [table, _journal_summary(stats), Caption(costs.OF_RESPONSES)]


def pruned_view(pruned: PruneResult) -> View:
    removed = "would be removed" if pruned.dry_run else "removed"
    about = "about " if pruned.dry_run else ""
    text = (
        f"{plural(pruned.entries, 'response')} {removed}, {about}{size(pruned.bytes)} freed, "
        f"{pruned.remaining:,} left in {pruned.path}"
    )
    return [text]


def _journal_summary(stats: JournalStats) -> str:
    times = f"{stats.oldest:%Y-%m-%d} to {stats.newest:%Y-%m-%d}" if stats.oldest else ""
    saved = f"; hits saved {format_cost(stats.total.saved_cost)}" if stats.total.hits else ""
    return f"{size(stats.bytes)}, {times}{saved}\n{stats.path}"
