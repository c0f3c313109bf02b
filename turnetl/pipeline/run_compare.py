"""Compare two templates on a sample of the turns of a group. Opens no graph."""

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage
from turnetl.base.model import Episode
from turnetl.base.progress import Progress, ProgressUpdate, RunCost, ignore_progress
from turnetl.estimation.workload import Workload
from turnetl.evaluation.compare_templates import (
    EmbeddedFacts,
    EmbeddedLabels,
    compared_templates,
    statements,
)
from turnetl.evaluation.expected_facts import ExpectedFact
from turnetl.evaluation.template_report import ComparedTemplate, SampledTurn, TemplateComparison
from turnetl.evaluation.template_trial import (
    TemplateTrial,
    TrialResources,
    TrialResult,
    TrialTurn,
)
from turnetl.extraction.given_template import GivenTemplate, given_template
from turnetl.ingestion.admission import TurnAdmission
from turnetl.llm.embedders import WordLlamaEmbedder
from turnetl.llm.stack import ModelStack
from turnetl.pipeline.embedded_texts import embedded
from turnetl.pipeline.tokens import tokens
from turnetl.pipeline.trial_turns import (
    ComparisonOptions,
    choose_turns,
    expected_facts,
    rendered_turns,
    trial_workload,
)
from turnetl.settings import Settings

_STAGE = "compare"
_SET_MODEL = "set TURNETL_LLM__PROVIDER, TURNETL_LLM__MODEL and TURNETL_LLM__API_KEY"
_NO_JOURNAL = (
    "a comparison needs the journal, so that a second one does not pay for the same responses "
    "again: remove the setting `journal`"
)


async def compare_templates(
    first: str,
    second: str,
    settings: Settings,
    options: ComparisonOptions,
    clock: Clock,
    *,
    directory: Path,
    progress: Progress = ignore_progress,
) -> TemplateComparison:
    """Extract the same turns with both templates, and compare what they find.

    Writes nothing but the journal of the lake.

    Args:
        first: the name of a template, a path, or `none`.
        second: another one.
        settings: of a run with a model: lake, extractor, model and budget.
        options: which turns.
        clock: returns the current time.
        directory: to which the paths of templates are relative.
        progress: called after each turn.

    Raises:
        BadUsage: no model, no journal, a template that cannot be used, twice the same one, an
            unknown group, no turn to compare, or a file of labels that is not valid.
        ModelUnusable, ModelBusy: the model did not respond.
        TableUnusable: the episodes table is damaged.
    """
    _check(settings)
    resolver = wiring.templates()
    given = tuple(given_template(one, resolver, directory) for one in (first, second))
    _check_different(*given)
    workload = await trial_workload(settings, options, clock)
    with wiring.lake(settings).reading_episodes(workload.group):
        expected = expected_facts(workload, options)
        chosen = choose_turns(workload, options, expected or ())
        turns = list(rendered_turns(workload, chosen, settings, given))
    comparing = _Comparing(settings, options, clock, given, progress)
    return await comparing.compare(workload, turns, expected)


class _Comparing:
    """The comparison of two templates on turns that are chosen."""

    def __init__(
        self,
        settings: Settings,
        options: ComparisonOptions,
        clock: Clock,
        given: Sequence[GivenTemplate],
        progress: Progress,
    ) -> None:
        self._settings = settings
        self._options = options
        self._clock = clock
        self._given = given
        self._progress = progress

    async def compare(
        self,
        workload: Workload,
        turns: Sequence[tuple[TrialTurn, TrialTurn]],
        expected: Sequence[ExpectedFact] | None,
    ) -> TemplateComparison:
        async with AsyncExitStack() as opened:
            stack = await opened.enter_async_context(
                wiring.model_stack(self._settings, self._clock)
            )
            resources = await self._resources(opened, stack)
            trial = TemplateTrial(resources, workload.group)
            result = await trial.run(turns, self._reporter(stack, len(turns)))
            paid = dict(stack.meter.by_prompt()) if stack.meter is not None else {}
            model = resources.extractors[0].model or ""
        compared = {episode.turn_id for episode in result.turns}
        used = None if expected is None else [one for one in expected if one.turn_id in compared]
        return TemplateComparison(
            group=workload.group,
            seed=self._options.seed,
            sampled=len(turns),
            candidates=len(workload.plan.turns.to_commit),
            turns=tuple(map(_sampled, result.turns)),
            templates=await self._templates(result, used),
            fact_similarity=self._settings.migration.fact_similarity,
            unused_labels=len(expected or ()) - len(used or ()),
            paid=paid,
            model=model,
            extractor=self._settings.extractor_name,
            stopped=None if result.stopped is None else str(result.stopped),
            compared_at=self._clock(),
        )

    async def _templates(
        self, result: TrialResult, labels: Sequence[ExpectedFact] | None
    ) -> tuple[ComparedTemplate, ComparedTemplate]:
        """Return both templates; all texts are embedded by the built-in embedder."""
        embedder = WordLlamaEmbedder()
        facts = [
            EmbeddedFacts(tuple(said), await embedded([one.text for one in said], embedder))
            for said in map(statements, result.sides)
        ]
        embedded_labels = None
        if labels is not None:
            rows = await embedded([one.text for one in labels], embedder)
            embedded_labels = EmbeddedLabels(tuple(labels), rows)
        first, second = compared_templates(
            self._given,
            result,
            facts,
            embedded_labels,
            similarity=self._settings.migration.fact_similarity,
            estimate_tokens=tokens,
        )
        return first, second

    async def _resources(self, opened: AsyncExitStack, stack: ModelStack) -> TrialResources:
        settings = self._settings
        embedder = await opened.enter_async_context(wiring.embedder(settings, meter=stack.meter))
        model = wiring.model(settings, stack)
        opened.push_async_callback(model.close)
        first, second = (
            wiring.extractor_over(settings, one.prompts(settings.extraction))(model, embedder)
            for one in self._given
        )
        opened.push_async_callback(first.close)
        opened.push_async_callback(second.close)
        return TrialResources(
            (first, second),
            embedder,
            wiring.flush_rules(settings, model),
            TurnAdmission(stack.budget),
            self._clock,
            settings.prefetch,
        )

    def _reporter(self, stack: ModelStack, total: int) -> Callable[[int], None]:
        def report(done: int) -> None:
            used = stack.used()
            cost = RunCost(used.tokens, used.cost)
            self._progress(ProgressUpdate(_STAGE, "turns", done, total, cost))

        return report


def _check(settings: Settings) -> None:
    """Check that a model is configured, with a journal.

    Raises:
        BadUsage: it is not; says what is needed.
    """
    if not settings.uses_model:
        has_model = settings.llm.provider != "none"
        remedy = "use --extractor llm, or hybrid" if has_model else _SET_MODEL
        raise BadUsage(
            "a comparison of templates needs a model, which reads their instructions, and this "
            f"run would use none: {remedy}"
        )
    if not settings.journal:
        raise BadUsage(_NO_JOURNAL)
    wiring.check(settings)


def _check_different(first: GivenTemplate, second: GivenTemplate) -> None:
    same = first.prompt == second.prompt and first.noise_patterns == second.noise_patterns
    if same:
        raise BadUsage(
            f"`{first.name}` and `{second.name}` have the same instructions and noise patterns: "
            "name two templates that differ; `none` is no template"
        )


def _sampled(episode: Episode) -> SampledTurn:
    turn = episode.turn
    return SampledTurn(
        turn.turn_id,
        episode.kind,
        episode.chars_after,
        turn.started_at,
        turn.archive,
        turn.first_line,
    )
