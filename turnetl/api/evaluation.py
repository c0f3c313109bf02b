"""The public functions that compare templates and measure the search, on the user's own turns."""

from collections.abc import Sequence
from pathlib import Path as FilePath

from turnetl.api.arguments import Path
from turnetl.base.clock import now
from turnetl.base.progress import Progress, ignore_progress
from turnetl.evaluation import run_compare, run_evaluate
from turnetl.evaluation.compare_templates import TemplateComparison
from turnetl.evaluation.recall import EvaluationReport
from turnetl.ingestion.plan import AssumedTime
from turnetl.settings import Settings, load_settings


async def compare_templates(
    first: str,
    second: str,
    settings: Settings | None = None,
    *,
    group: str | None = None,
    sample: int = 20,
    seed: int = 0,
    expected: Path | None = None,
    assumed_time: AssumedTime | None = None,
    progress: Progress = ignore_progress,
) -> TemplateComparison:
    """Extract the same turns with both templates, and compare what they find.

    Opens no graph, and writes nothing but the journal of the lake.

    Args:
        first: the name of a template, a path, or `none`.
        second: another one.
        settings: everything that is configured, with a model; None: as the command line would load
            it. Their budget limits the comparison.
        group: group id or project name; None: the only one of the lake.
        sample: at most this many turns, drawn by kind and length.
        seed: equal seeds draw equal turns.
        expected: a file of facts to be found, a table separated by tabs with the columns `turn` and
            `fact`; None: there is none.
        assumed_time: the time of turns whose archive has none; None: these are left out.
        progress: called after each turn.

    Raises:
        BadUsage: no model, no journal, a template that cannot be used, twice the same one, an
            unknown group, no turn to compare, or a file of labels that is not valid.
        ModelUnusable, ModelBusy: the model did not respond.
        TableUnusable: the episodes table is damaged.
    """
    file = None if expected is None else FilePath(expected)
    return await run_compare.compare_templates(
        first,
        second,
        settings or load_settings(),
        run_compare.ComparisonOptions(group, sample, seed, file, assumed_time),
        now,
        directory=FilePath.cwd(),
        progress=progress,
    )


async def evaluate(
    settings: Settings | None = None,
    *,
    groups: Sequence[str] = (),
    questions: Path | None = None,
    baseline: Path | None = None,
    sample: int = 50,
    seed: int = 0,
    rerank: bool = False,
    progress: Progress = ignore_progress,
) -> EvaluationReport:
    """Return how often each stage of the search finds the turn that answers a question.

    Writes nothing but the search index, which is brought up to date first, and the journal.

    Args:
        settings: everything that is configured; None: as the command line would load it.
        groups: group ids or project names that are searched; all if empty.
        questions: a table separated by tabs with the columns `question` and `turn`; None: the
            questions of the baseline, or else the model writes them.
        baseline: a file of an earlier evaluation to compare with; None: there is none.
        sample: turns about which the model writes a question.
        seed: equal seeds choose equal turns.
        rerank: also measure the order of the configured model.
        progress: called after each question, and while the index is brought up to date.

    Raises:
        BadUsage: an unknown group, no turn, a file that is not valid, or no model although one is
            needed.
        ModelUnusable, ModelBusy: the model did not respond.
        RunStopped: the budget ended before there was a question.
        GraphUnusable: there is no graph, or it cannot be opened.
        IndexUnusable: the index cannot be used.
    """
    options = run_evaluate.EvaluationOptions(
        groups=tuple(groups),
        questions=None if questions is None else FilePath(questions),
        baseline=None if baseline is None else FilePath(baseline),
        sample=sample,
        seed=seed,
        rerank=rerank,
    )
    return await run_evaluate.evaluate(settings or load_settings(), options, now, progress=progress)
