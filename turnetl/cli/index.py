"""`turnetl index`, and `turnetl evaluate`, which measures the search on the user's own turns."""

from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from turnetl import console
from turnetl.base.clock import now
from turnetl.base.errors import BadUsage
from turnetl.base.exit_code import ExitCode
from turnetl.cli.options import (
    NO_COMMON,
    BudgetOption,
    CommonOptions,
    Flag,
    GroupNames,
    PathOption,
    budget_settings,
)


def index_(
    *,
    rebuild: Flag = False,
    embedder: str | None = None,
    questions: Flag = False,
    dry_run: Flag = False,
    budget: BudgetOption = (),
    common: CommonOptions = NO_COMMON,
) -> int:
    """Bring the search index up to date with the graph; a search does so too.

    Args:
        rebuild: Delete the index first, and rebuild it.
        embedder: Compare the passages of searches with this embedder from now on: `minilm`,
            `fastembed:NAME`, the path of a folder with a model, or `local`, the built-in one.
        questions: Let the model write two or three questions that each turn answers, once.
        dry_run: Send no request and write nothing; print what --questions would use.
    """
    if questions and embedder is not None:
        raise BadUsage("`--embedder` and `--questions` are two runs: omit one of them")
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
        if questions:
            work = pipeline.update_index_with_questions(
                settings, now, rebuild=rebuild, progress=progress
            )
        else:
            work = pipeline.update_and_embed(
                settings, now, rebuild=rebuild, embedder=embedder, progress=progress
            )
        report = console.run_async(work)
    console.print_result(view.view(report), report, as_json=common.json)
    failed = report.questions is not None and report.questions.failed
    return ExitCode.FAILED if failed else ExitCode.DONE


def evaluate(
    *,
    groups: GroupNames = (),
    questions: PathOption = None,
    sample: Annotated[int, Parameter(validator=Number(gte=1))] = 50,
    seed: int = 0,
    rerank: Flag = False,
    save: PathOption = None,
    baseline: PathOption = None,
    budget: BudgetOption = (),
    common: CommonOptions = NO_COMMON,
) -> int:
    """Measure how often each stage of the search finds the turn that answers a question.

    Args:
        questions: A table separated by tabs with the columns `question` and `turn`. Without it the
            model writes a question about each turn of a sample.
        sample: Turns about which the model writes a question.
        seed: Equal seeds choose equal turns.
        rerank: Also measure the order of the configured model.
        save: Write the result into this file, for --baseline.
        baseline: Compare with this earlier result; without --questions, on its questions.
    """
    from turnetl.base.results import encoded
    from turnetl.evaluation import run_evaluate
    from turnetl.evaluation.recall import is_evaluation
    from turnetl.report_pages.own_file import OwnFile
    from turnetl.views import evaluate as view

    saved = OwnFile("evaluation", is_evaluation)
    if save is not None:
        saved.check(save)
    settings = common.settings(**budget_settings(budget))
    options = run_evaluate.EvaluationOptions(groups, questions, baseline, sample, seed, rerank)
    report = common.executed(run_evaluate.evaluate, settings, options, now)
    if save is not None:
        saved.write(save, encoded(report) + "\n")
    console.print_messages(view.messages(report))
    console.print_result(view.view(report), report, as_json=common.json)
    return report.exit_code
