"""Plan a migration: compare the session-level data of a graph with archives; estimate its run."""

import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import gettempdir

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage
from turnetl.base.model import GroupId
from turnetl.base.progress import Progress, ProgressUpdate, ignore_progress
from turnetl.estimation.plan_report import Estimate, record_estimate
from turnetl.estimation.sample import Workload
from turnetl.estimation.workloads import PilotOptions, estimate_workloads
from turnetl.graph.port import GraphStore
from turnetl.graph.shadow_store import ShadowStore
from turnetl.ingestion.group import GroupPlan
from turnetl.lake import Lake
from turnetl.lake.redaction_key import FILE
from turnetl.lake.temporary import shared_temporary_folder
from turnetl.migration.classify import ClassifiedEpisode, EpisodeClass, EpisodeClassifier
from turnetl.migration.migration_report import (
    EstimatedMigration,
    GroupMigration,
    MigrationPlan,
    open_migration,
    start_refusal,
)
from turnetl.migration.plan_file import Settlement, read_plan, write_plan
from turnetl.migration.sessions import archived_sessions
from turnetl.parsing import ParseReport
from turnetl.pipeline.group_names import select_groups
from turnetl.pipeline.group_plans import plan_groups_in
from turnetl.pipeline.index import check_graph
from turnetl.pipeline.parse_plan import parse_archives, plan_parse
from turnetl.pipeline.run_options import RunOptions, settings_for_run
from turnetl.pipeline.tables import filter_turns
from turnetl.settings import Settings

_TEMPORARY = "turnetl-migrate"
_STAGE = "classify"
_NAME_CHARS = 80
"""Of an episode's name in a plan file."""


@dataclass(frozen=True, slots=True)
class MigrationOptions:
    """What a plan of a migration compares."""

    groups: tuple[str, ...] = ()
    """Group ids or project names; all groups with an episode if empty."""
    format_name: str | None = None
    """The format of all archives; None: each is detected by its content."""
    plan_file: Path | None = None
    """A file in which a person settled ambiguous episodes; None: there is none."""


async def plan_migration(
    archives: Sequence[str],
    settings: Settings,
    options: MigrationOptions,
    *,
    progress: Progress = ignore_progress,
) -> MigrationPlan:
    """Find which session each episode without a TurnCommit summarises, in temporary tables."""
    check_graph(settings)
    settled = read_plan(options.plan_file) if options.plan_file is not None else {}
    async with wiring.store(settings, write=False) as store:
        selected = select_groups(await store.episode_groups(), options.groups)
        with shared_temporary_folder(Path(gettempdir()), _TEMPORARY) as folder:
            tables = _with_lake(settings, folder / "lake")
            parsed = parse_archives(
                archives, tables, format_name=options.format_name, progress=progress
            )
            if parsed.groups:
                filter_turns(tables, parsed.groups, progress=progress)
            sessions = archived_sessions(wiring.lake(tables), parsed.groups)
        classifier = EpisodeClassifier(sessions)
        groups: list[GroupMigration] = []
        for done, group in enumerate(selected, start=1):
            groups += await _group(store, group, classifier, settled)
            progress(ProgressUpdate(_STAGE, "groups", done, len(selected)))
        recorded, with_turns = await store.migrations(), await store.groups()
    if not options.groups:
        _check_settled(settled, groups)
    dimensions = await _dimensions(settings)
    refusals = [
        start_refusal(group, recorded, dimensions=dimensions, with_turns=with_turns)
        for group in groups
        if group.sessions
    ]
    return MigrationPlan(
        groups=tuple(groups),
        sessions=len(sessions),
        dimensions=dimensions,
        refused=tuple(reason for reason in refusals if reason is not None),
        parse_problems=tuple(problem.message for problem in parsed.problems),
    )


def write_plan_file(path: Path, plan: MigrationPlan) -> int:
    """Write the ambiguous episodes into a file that a person can edit; return their number."""
    ambiguous = plan.of_kind(EpisodeClass.AMBIGUOUS)
    write_plan(path, map(_row, ambiguous))
    return len(ambiguous)


async def _group(
    store: GraphStore,
    group: GroupId,
    classifier: EpisodeClassifier,
    settled: Mapping[str, Settlement],
) -> list[GroupMigration]:
    episodes = await store.unrecorded_episodes(group)
    if not episodes:
        return []
    _, entities, facts = await store.counts(group)
    sizes = dict(sorted((await store.embedding_sizes(group)).items()))
    classified = tuple(classifier.classify(episodes, settled))
    return [GroupMigration(group, classified, entities, facts, sizes)]


def _with_lake(settings: Settings, lake: Path) -> Settings:
    """Return the settings with another lake, and the same graph."""
    return settings.model_copy(update={"lake": lake, "graph": settings.graph_url})


async def _dimensions(settings: Settings) -> int | None:
    if wiring.is_remote(settings):
        return settings.embedder.dimensions
    async with wiring.embedder(settings) as embedder:
        return embedder.dimensions


def _check_settled(settled: Mapping[str, Settlement], groups: Sequence[GroupMigration]) -> None:
    known = {one.episode.uuid for group in groups for one in group.episodes}
    for episode, settlement in settled.items():
        if episode not in known:
            raise BadUsage(
                f"{settlement.place}: the graph holds no episode `{episode}` of another program; "
                "remove the line, or check --graph"
            )


def _row(one: ClassifiedEpisode) -> dict[str, str]:
    return {
        "episode": one.episode.uuid,
        "session": "",
        "format": "",
        "first": one.session_id or "",
        "second": one.runner_up_id or "",
        "similarity": "" if one.similarity is None else f"{one.similarity:.3f}",
        "confidence": "" if one.confidence is None else f"{one.confidence:.3f}",
        "group": one.episode.group_id,
        "name": " ".join(one.episode.name.split())[:_NAME_CHARS],
        "reason": one.reason,
    }


async def plan_estimated_migration(
    archives: Sequence[str],
    settings: Settings,
    migration: MigrationOptions,
    options: RunOptions,
    clock: Clock,
    *,
    pilot: PilotOptions | None = None,
    progress: Progress = ignore_progress,
) -> EstimatedMigration:
    plan = await plan_migration(archives, settings, migration, progress=progress)
    planning = MigrationPlanning(archives, settings, migration, options, clock, progress)
    return EstimatedMigration(plan, await planning.estimate(plan, pilot))


@dataclass(frozen=True, slots=True)
class MigrationWork:
    """What a migration is of, and how it is carried out."""

    archives: Sequence[str]
    settings: Settings
    migration: MigrationOptions
    options: RunOptions
    clock: Clock
    progress: Progress

    def parse_matched(self, plan: GroupMigration, tables: Settings) -> ParseReport:
        """Parse the archives of the matched sessions; all archives if one has a redacted path."""
        paths = sorted({path for session in plan.sessions for path in session.archives})
        files = wiring.archive_files()
        files.look_up(paths)
        are_found = all(files.is_file(path) for path in paths)
        parsing = plan_parse(
            [*map(str, paths)] if are_found else self.archives,
            tables,
            format_name=self.migration.format_name,
            progress=self.progress,
            group=plan.group,
        )
        return parsing.report(work() for work in parsing.batches(None))


@dataclass(frozen=True, slots=True)
class MigrationPlanning(MigrationWork):
    """What a run of a migration would ingest, and what that takes."""

    async def estimate(
        self, plan: MigrationPlan, pilot: PilotOptions | None = None
    ) -> Estimate | None:
        """Return what the run takes; None if it has no turn to ingest. Writes no graph.

        Groups that cannot be migrated are not part of it, nor are turns that a run ingested before.

        Args:
            pilot: pay for some turns, to know more, and keep the responses in the journal of the
                lake; None: send no request, and write no lake.
        """
        settings = settings_for_run(self.settings, self.options)
        wiring.check(settings, self.options.preprocessing)
        if pilot is not None:
            # The key of the lake decides the placeholders of secrets, and with them the prompts.
            wiring.redactor(settings, stores=True)
        with shared_temporary_folder(Path(gettempdir()), _TEMPORARY) as folder:
            async with wiring.store(settings, write=False) as store:
                workloads = await self._workloads(store, plan, folder)
                if not workloads:
                    return None
                estimate = await estimate_workloads(
                    workloads,
                    store,
                    settings,
                    self.clock,
                    pilot=pilot,
                    progress=self.progress,
                )
        if pilot is not None:
            record_estimate(settings.lake, workloads, estimate, self.clock())
        return estimate

    async def _workloads(
        self, store: GraphStore, plan: MigrationPlan, folder: Path
    ) -> list[Workload]:
        """Return the turns to ingest, by group; their tables are in `folder`."""
        found = list[Workload]()
        for number, group in enumerate(await _migratable(plan, store)):
            shadow = ShadowStore(store, group.group)
            planned = await self._planned(shadow, group, folder / f"lake{number}")
            if planned is not None and planned.turns.to_commit:
                found.append(Workload(planned, store=shadow))
        return found

    async def _planned(
        self, shadow: ShadowStore, plan: GroupMigration, lake: Path
    ) -> GroupPlan | None:
        group, tables = plan.group, self._tables(plan, lake)
        options = replace(
            self.options,
            groups=(group,),
            sessions=frozenset((one.format, str(one.session_id)) for one in plan.sessions),
            dry_run=True,
        )
        files = {group: Lake(lake).turn_files(group)}
        planned = await plan_groups_in(shadow, files, tables, options, self.clock)
        return planned.plans.get(group)

    def _tables(self, plan: GroupMigration, lake: Path) -> Settings:
        tables = _with_lake(self.settings, lake)
        lake.mkdir(mode=0o700)
        source = wiring.lake(self.settings)
        source.files.fetch([source.root / FILE])
        with suppress(FileNotFoundError):
            shutil.copy2(source.root / FILE, lake / FILE)
        self.parse_matched(plan, tables)
        filter_turns(tables, [plan.group], progress=self.progress)
        return tables


async def _migratable(plan: MigrationPlan, store: GraphStore) -> list[GroupMigration]:
    """Return the groups that a run would ingest turns of."""
    recorded, with_turns = await store.migrations(), await store.groups()
    found = list[GroupMigration]()
    for group in plan.groups:
        begun = open_migration(recorded, group.group)
        refused = start_refusal(
            group,
            recorded,
            dimensions=plan.dimensions,
            with_turns=with_turns,
        )
        if refused is None and (begun is None or begun.phase.precedes_cutover):
            found.append(group)
    return found
