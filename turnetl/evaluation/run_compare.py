"""Compare two templates on a sample of the turns of a group. Opens no graph."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from turnetl import wiring
from turnetl.base.batched import grouped
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage, Fatal
from turnetl.base.graph_model import Receipt
from turnetl.base.ids import RecipeParts
from turnetl.base.model import Episode, GroupId, TurnId
from turnetl.base.progress import Progress, ProgressUpdate, ignore_progress
from turnetl.episodes.filters import Filters
from turnetl.episodes.table import rendered_columns
from turnetl.estimation.sample import Workload
from turnetl.estimation.workloads import with_cost
from turnetl.evaluation.compare_templates import (
    ComparedTemplate,
    EmbeddedLabels,
    ExpectedFact,
    SampledTurn,
    TemplateComparison,
    compared_templates,
    read_expected,
)
from turnetl.evaluation.question_set import LocatedTurn, LocatedTurns
from turnetl.evaluation.template_trial import (
    TemplateTrial,
    TrialResources,
    TrialResult,
    TrialTurn,
    sample_turns,
)
from turnetl.extraction.catalog import GivenTemplate, given_template
from turnetl.ingestion.admission import TurnAdmission, with_context
from turnetl.ingestion.plan import AssumedTime, TurnPlan
from turnetl.lake import episode_from_row
from turnetl.llm.embedders.static_model import WordLlamaEmbedder
from turnetl.llm.stack import ModelStack
from turnetl.llm.vectors import embedded
from turnetl.migration.matching import embedded_facts
from turnetl.pipeline.group_names import select_groups
from turnetl.pipeline.group_plans import plan_groups_in, turn_files
from turnetl.pipeline.previews import estimated_tokens
from turnetl.pipeline.run_options import RunOptions
from turnetl.settings import Settings

DEFAULT_SAMPLE = 20
"""Turns of a comparison."""


@dataclass(frozen=True, slots=True)
class ComparisonOptions:
    """Which turns are compared."""

    group: str | None = None
    """Group id or project name; None: the only one of the lake."""
    sample: int = DEFAULT_SAMPLE
    """At most this many turns, at least 1."""
    seed: int = 0
    """Equal seeds draw equal turns."""
    expected: Path | None = None
    """File of labelled facts."""
    assumed_time: AssumedTime | None = None
    """The time of turns whose archive has none; without it they are left out."""

    def __post_init__(self) -> None:
        if self.sample < 1:
            raise BadUsage(f"a sample has at least 1 turn, not {self.sample}")


async def trial_workload(settings: Settings, options: ComparisonOptions, clock: Clock) -> Workload:
    """Return all turns of the group that an ingest into an empty graph would commit."""
    group = _group(settings, options)
    run = RunOptions(groups=(group,), assumed_time=options.assumed_time, dry_run=True)
    files = turn_files(wiring.lake(settings))
    planned = await plan_groups_in(_EmptyGraph(), files, settings, run, clock, verify=True)
    (report,) = planned.report.groups
    if report.error is not None:
        raise Fatal(f"group `{group}`: {report.error}")
    workload = Workload(planned.plans[group])
    if not workload.plan.turns.to_commit:
        raise BadUsage(
            f"group `{group}` has no turn to compare: {_reasons(workload.plan.turns)}; "
            "`turnetl status` explains the reasons, and --assume-time gives turns a time"
        )
    return workload


def _group(settings: Settings, options: ComparisonOptions) -> GroupId:
    existing = wiring.lake(settings).groups()
    if not existing:
        raise BadUsage(
            f"the lake `{settings.lake}` has no turns: run `turnetl parse ARCHIVES` and "
            "`turnetl filter`, or name another with --lake"
        )
    if options.group is not None:
        return select_groups(existing, (options.group,))[0]
    if len(existing) > 1:
        raise BadUsage(
            "a comparison is of one group: name it with --group; existing groups: "
            f"{', '.join(existing)}"
        )
    return existing[0]


def _reasons(plan: TurnPlan) -> str:
    counts: dict[str, int] = {"noise": sum(plan.noise.values())}
    counts |= {reason.value: count for reason, count in plan.pending_reasons.items()}
    return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count) or "no turns"


def expected_facts(workload: Workload, options: ComparisonOptions) -> list[ExpectedFact] | None:
    """Return the labelled facts; None without a file of them."""
    if options.expected is None:
        return None
    columns = ("turn_id", "group_id", "archive", "first_line", "last_line")
    rows = workload.plan.rows.select(columns).collect()
    located = LocatedTurns(
        LocatedTurn(TurnId(turn), GroupId(group), *lines)
        for turn, group, *lines in rows.iter_rows()
    )
    return read_expected(options.expected, located)


def choose_turns(
    workload: Workload, options: ComparisonOptions, expected: Sequence[ExpectedFact]
) -> frozenset[TurnId]:
    """Return the sample, with the turns of labels first."""
    kinds = dict(workload.plan.rows.select("turn_id", "kind").collect().iter_rows())
    by_kind = grouped((kinds[turn.turn_id], turn) for turn in workload.pending())
    labelled = {one.turn_id for one in expected}
    return sample_turns(by_kind, options.sample, seed=options.seed, first=labelled)


def rendered_turns(
    workload: Workload,
    chosen: frozenset[TurnId],
    settings: Settings,
    given: Sequence[GivenTemplate],
) -> Iterator[tuple[TrialTurn, TrialTurn]]:
    """Yield each turn as both templates render it: their noise patterns may differ."""
    planned = workload.plan.turns
    context = {turn: planned.context[turn] for turn in planned.to_commit if turn in chosen}
    required = {*context, *(one for earlier in context.values() for one in earlier)}
    is_required = pl.col("turn_id").is_in(sorted(required))
    rows = workload.plan.rows.filter(is_required).drop("has_no_time").collect()
    filters = wiring.filters(settings)
    sides = [
        with_context(_episodes(rows, replace(filters, patterns=patterns, overrides={})), context)
        for patterns in (one.noise_patterns for one in given)
    ]
    yield from zip(*sides, strict=True)


def _episodes(rows: pl.DataFrame, filters: Filters) -> Iterator[Episode]:
    rendered = rows.with_columns(rendered_columns(rows, filters).get_columns())
    return map(episode_from_row, rendered.iter_rows(named=True))


class _EmptyGraph:
    """A graph without turns: every turn of the lake is still to be ingested."""

    async def groups(self) -> Sequence[GroupId]:
        return ()

    async def receipts(self, group: GroupId) -> Sequence[Receipt]:  # noqa: ARG002
        return ()

    async def counts(self, group: GroupId) -> tuple[int, int, int]:  # noqa: ARG002
        return 0, 0, 0

    async def recipes(self, digests: Collection[str]) -> Mapping[str, RecipeParts]:  # noqa: ARG002
        return {}


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
        first: the name of a template, a path, or `none`; `second` is another one.
        directory: to which the paths of templates are relative.
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


@dataclass(frozen=True, slots=True)
class _Comparing:
    settings: Settings
    options: ComparisonOptions
    clock: Clock
    given: Sequence[GivenTemplate]
    progress: Progress

    async def compare(
        self,
        workload: Workload,
        turns: Sequence[tuple[TrialTurn, TrialTurn]],
        expected: Sequence[ExpectedFact] | None,
    ) -> TemplateComparison:
        async with AsyncExitStack() as opened:
            stack = await opened.enter_async_context(wiring.model_stack(self.settings, self.clock))
            resources = await self._resources(opened, stack)
            trial = TemplateTrial(resources, workload.group)
            progress = with_cost(self.progress, stack)
            result = await trial.run(
                turns,
                lambda done: progress(ProgressUpdate("compare", "turns", done, len(turns))),
            )
            paid = dict(stack.meter.by_prompt()) if stack.meter is not None else {}
            model = resources.extractors[0].model or ""
        compared = {episode.turn_id for episode in result.turns}
        used = None if expected is None else [one for one in expected if one.turn_id in compared]
        return TemplateComparison(
            group=workload.group,
            seed=self.options.seed,
            sampled=len(turns),
            candidates=len(workload.plan.turns.to_commit),
            turns=tuple(map(_sampled, result.turns)),
            templates=await self._templates(result, used),
            fact_similarity=self.settings.migration.fact_similarity,
            unused_labels=len(expected or ()) - len(used or ()),
            paid=paid,
            model=model,
            extractor=self.settings.extractor_name,
            stopped=None if result.stopped is None else str(result.stopped),
            compared_at=self.clock(),
        )

    async def _templates(
        self, result: TrialResult, labels: Sequence[ExpectedFact] | None
    ) -> tuple[ComparedTemplate, ComparedTemplate]:
        """Return both templates; all texts are embedded by the built-in embedder."""
        embedder = WordLlamaEmbedder()
        facts = [await embedded_facts(one.facts, one.entities, embedder) for one in result.sides]
        embedded_labels = None
        if labels is not None:
            rows = await embedded([one.text for one in labels], embedder)
            embedded_labels = EmbeddedLabels(tuple(labels), rows)
        first, second = compared_templates(
            self.given,
            result,
            facts,
            embedded_labels,
            similarity=self.settings.migration.fact_similarity,
            estimate_tokens=estimated_tokens,
        )
        return first, second

    async def _resources(self, opened: AsyncExitStack, stack: ModelStack) -> TrialResources:
        settings = self.settings
        embedder = await opened.enter_async_context(wiring.embedder(settings, meter=stack.meter))
        model = wiring.model(settings, stack)
        opened.push_async_callback(model.close)
        first, second = (
            wiring.extractor_over(settings, one.prompts(settings.extraction))(model, embedder)
            for one in self.given
        )
        opened.push_async_callback(first.close)
        opened.push_async_callback(second.close)
        return TrialResources(
            (first, second),
            embedder,
            wiring.flush_rules(settings, model),
            TurnAdmission(stack.budget),
            self.clock,
            settings.prefetch,
        )


def _check(settings: Settings) -> None:
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
