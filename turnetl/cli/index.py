"""The command that makes the search index, or brings it up to date."""

from turnetl import console
from turnetl.base.clock import now
from turnetl.base.errors import BadUsage
from turnetl.base.exit_code import ExitCode
from turnetl.cli.options import NO_COMMON, BudgetOption, CommonOptions, Flag, budget_settings


def index_(
    *,
    rebuild: Flag = False,
    questions: Flag = False,
    dry_run: Flag = False,
    budget: BudgetOption = (),
    common: CommonOptions = NO_COMMON,
) -> int:
    """Bring the search index up to date with the graph; a search does so too.

    Args:
        rebuild: Delete the index first, and rebuild it.
        questions: Let the model write two or three questions that each turn answers, once.
        dry_run: Send no request and write nothing; print what --questions would use.
    """
    if not questions and (dry_run or budget):
        option = "--dry-run" if dry_run else "--budget"
        raise BadUsage(f"`{option}` is an option of `--questions`: add it")

    from turnetl import pipeline
    from turnetl.views import index as view

    settings = common.settings(**budget_settings(budget))
    if dry_run:
        estimate = console.run_async(pipeline.estimate_index_questions(settings, now))
        console.print_result(view.estimate_view(estimate), estimate, as_json=common.json)
        return ExitCode.DONE
    with console.show_progress(as_json=common.json) as progress:
        update = pipeline.update_index_with_questions if questions else pipeline.update_index
        report = console.run_async(update(settings, now, rebuild=rebuild, progress=progress))
    console.print_result(view.view(report), report, as_json=common.json)
    failed = report.questions is not None and report.questions.failed
    return ExitCode.FAILED if failed else ExitCode.DONE
