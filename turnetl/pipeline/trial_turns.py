"""The turns of a comparison of templates: which ones, and how each template renders them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage, Fatal
from turnetl.base.graph_model import Receipt
from turnetl.base.model import Episode, GroupId, TurnId
from turnetl.base.recipe_parts import RecipeParts
from turnetl.episodes.filters import Filters
from turnetl.episodes.table import rendered_columns
from turnetl.estimation.sample import PendingTurn
from turnetl.estimation.workload import Workload
from turnetl.evaluation.expected_facts import ExpectedFact, read_expected
from turnetl.evaluation.located_turns import LocatedTurn, LocatedTurns
from turnetl.evaluation.template_trial import TrialTurn
from turnetl.evaluation.turn_sample import sample_turns
from turnetl.extraction.given_template import GivenTemplate
from turnetl.ingestion.assumed_time import AssumedTime
from turnetl.ingestion.plan import TurnPlan
from turnetl.ingestion.prefetch import with_context
from turnetl.lake import episode_from_row
from turnetl.pipeline.group_names import select_groups
from turnetl.pipeline.group_plans import plan_groups_in, turn_files
from turnetl.pipeline.run_options import RunOptions
from turnetl.settings import Settings

DEFAULT_SAMPLE = 20
"""Turns of a comparison."""


@dataclass(frozen=True, slots=True)
class ComparisonOptions:
    """Which turns are compared.

    Raises:
        BadUsage: the sample has no turn.
    """

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
    """Return all turns of the group that an ingest into an empty graph would commit.

    Raises:
        BadUsage: no such group, or none is named and the lake has several; no turn.
        Fatal: the group is not filtered, or its table is damaged.
    """
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
    """Return the labelled facts; None without a file of them.

    Raises:
        BadUsage: the file is not valid, or names a turn that the group does not have.
    """
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
    by_kind: dict[str, list[PendingTurn]] = {}
    for turn in workload.pending():
        by_kind.setdefault(kinds[turn.turn_id], []).append(turn)
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
