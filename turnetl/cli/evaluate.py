"""The command that measures the search on the user's own turns."""

from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from turnetl import console
from turnetl.base.clock import now
from turnetl.cli.options import (
    NO_COMMON,
    BudgetOption,
    CommonOptions,
    Flag,
    GroupNames,
    PathOption,
    budget_settings,
)


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
