"""Compare the old data of a migration with its turns, and record the verdict."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import GroupId, SessionId
from turnetl.base.progress import Progress, ProgressUpdate, ignore_progress
from turnetl.graph.migrations import MigrationPhase, TurnMigration
from turnetl.graph.port import GraphStore
from turnetl.graph.session_level import SessionLevelData
from turnetl.graph.shadow_store import ShadowStore
from turnetl.ingestion import lease_owner
from turnetl.ingestion.held_lease import held_lease
from turnetl.llm.embedders import WordLlamaEmbedder
from turnetl.llm.embedders.port import Embedder
from turnetl.migration.classify import EpisodeClassifier
from turnetl.migration.compare import (
    OldData,
    compare,
    new_facts,
    old_facts,
    replaced_part,
    turns_part,
)
from turnetl.migration.comparison import (
    GroupComparison,
    MigrationComparison,
    SearchProbe,
)
from turnetl.migration.phases import remedy
from turnetl.migration.probes import generated_probes, of_known_sessions, read_probes
from turnetl.migration.sessions import loaded_sessions
from turnetl.migration.start import open_migration
from turnetl.migration.thresholds import Thresholds, verdict_reasons
from turnetl.migration.verdict import CompareVerdict, encoded, state_digest
from turnetl.pipeline.embedded_texts import embedded
from turnetl.pipeline.group_names import select_groups
from turnetl.pipeline.index import check_graph
from turnetl.pipeline.migrate_probes import PROBE_SESSIONS, probe_results
from turnetl.settings import Settings

_STAGE = "compare"
_COMPARABLE = (MigrationPhase.RUNNING, MigrationPhase.READY, MigrationPhase.CUT_OVER)


async def compare_migration(
    settings: Settings,
    clock: Clock,
    *,
    groups: Sequence[str] = (),
    questions: Path | None = None,
    progress: Progress = ignore_progress,
) -> MigrationComparison:
    """Compare the old data of each migration that is open with its turns, and record the verdicts.

    Nothing but the verdicts is written to the graph, and nothing to the lake. All texts are
    embedded by the built-in embedder: vectors of a graph may be of any.

    Args:
        settings: the graph and the thresholds.
        clock: returns the current time.
        groups: only the migrations of these groups; all if empty.
        questions: a file with search probes; None: they are made of old facts.
        progress: called after each group and each probe.

    Raises:
        BadUsage: there is no migration, a named group has none, it is being moved at the moment,
            or the file of questions is not valid.
        GraphBusy: the graph did not respond, or another process writes it.
        GraphUnusable: there is no graph, or it cannot be written.
    """
    check_graph(settings)
    asked = read_probes(questions) if questions is not None else None
    limits = settings.migration
    thresholds = Thresholds(limits.fact_similarity, limits.min_expressed, limits.min_probe_hits)
    async with wiring.store(settings, write=False) as store:
        chosen = _chosen(await store.migrations(), groups)
        loaded = [await _loaded(store, one) for one in chosen]
    probes = _probes(asked, loaded)
    comparer = _Comparer(
        thresholds, WordLlamaEmbedder(), clock, progress, are_generated=asked is None
    )
    compared = [await comparer.compared(one, probes[one.migration.group_id]) for one in loaded]
    await _record(settings, clock, loaded, compared)
    return MigrationComparison(tuple(compared), thresholds.fact_similarity, PROBE_SESSIONS, clock())


class _Loaded:
    """The two sides of a migration, in memory."""

    def __init__(
        self, migration: TurnMigration, data: SessionLevelData, contents: GroupContents
    ) -> None:
        self.migration = migration
        self.new = contents
        self.digest = state_digest(data, contents.receipts)
        replaced = replaced_part(data, frozenset(migration.moved))
        sessions = loaded_sessions(contents, migration.sessions)
        classified = EpisodeClassifier(sessions).classify(replaced.episodes)
        self.old = OldData(
            replaced,
            {one.episode.uuid: one.session.session_id for one in classified if one.session},
        )

    @property
    def sessions(self) -> frozenset[SessionId]:
        return frozenset(SessionId(session) for _, session in self.migration.sessions)


def _chosen(migrations: Sequence[TurnMigration], groups: Sequence[str]) -> list[TurnMigration]:
    """Return the migrations to compare, by group."""
    names = sorted({one.group_id for one in migrations if one.is_open})
    if not names:
        raise BadUsage("no migration was begun: run `turnetl migrate run ARCHIVES` first")
    selected = select_groups(names, groups)
    found = [one for one in (open_migration(migrations, name) for name in selected) if one]
    for one in found:
        if one.phase not in _COMPARABLE:
            raise BadUsage(
                f"group `{one.group_id}` cannot be compared while its data are moved; {remedy(one)}"
            )
    return found


async def _loaded(store: GraphStore, migration: TurnMigration) -> _Loaded:
    group = migration.group_id
    if migration.phase is MigrationPhase.CUT_OVER:
        data = await store.session_level(migration.sessions_group, vectors=False)
        staying = await store.session_level(group, vectors=False)
        return _Loaded(migration, data, turns_part(await store.load(group), staying))
    data = await store.session_level(group, vectors=False)
    return _Loaded(migration, data, await store.load(migration.turns_group))


def _probes(
    asked: Sequence[SearchProbe] | None, loaded: Sequence[_Loaded]
) -> Mapping[GroupId, Sequence[SearchProbe]]:
    """Return the probes of each group."""
    if asked is None:
        return {one.migration.group_id: generated_probes(one.old) for one in loaded}
    return of_known_sessions(asked, {one.migration.group_id: one.sessions for one in loaded})


@dataclass(frozen=True, slots=True)
class _Comparer:
    """Compares one group after another."""

    thresholds: Thresholds
    embedder: Embedder
    clock: Clock
    progress: Progress
    are_generated: bool

    async def compared(self, side: _Loaded, probes: Sequence[SearchProbe]) -> GroupComparison:
        old_rows = await embedded([one.text for one in old_facts(side.old)], self.embedder)
        new_rows = await embedded([one.text for one in new_facts(side.new)], self.embedder)
        limit = self.thresholds.fact_similarity
        found = await asyncio.to_thread(
            lambda: compare(side.old, side.new, old_rows, new_rows, similarity=limit)
        )
        group = side.migration.group_id

        def on_probe(done: int) -> None:
            self.progress(ProgressUpdate(_STAGE, "probes", done, len(probes)))

        results = await probe_results(
            probes, side.old, side.new, self.embedder, now=self.clock(), on_probe=on_probe
        )
        compared = GroupComparison(
            group=group,
            migration_id=side.migration.migration_id,
            sessions=found.sessions,
            old=found.old,
            new=found.new,
            entities_lost=found.entities_lost,
            entities_gained=found.entities_gained,
            probes=results,
            are_probes_generated=self.are_generated,
        )
        reasons = verdict_reasons(compared, self.thresholds, side.migration.phase)
        return replace(compared, reasons=reasons)


async def _record(
    settings: Settings,
    clock: Clock,
    loaded: Sequence[_Loaded],
    compared: Sequence[GroupComparison],
) -> None:
    """Write the verdicts of what is not cut over yet into the graph."""
    async with wiring.store(settings, write=True) as store:
        for side, comparison in zip(loaded, compared, strict=True):
            if side.migration.phase is not MigrationPhase.CUT_OVER:
                await _save(store, side, comparison, settings, clock)


async def _save(
    store: GraphStore,
    side: _Loaded,
    comparison: GroupComparison,
    settings: Settings,
    clock: Clock,
) -> None:
    group, ttl = side.migration.group_id, timedelta(seconds=settings.lease_seconds)
    verdict = CompareVerdict(side.digest, clock(), comparison.reasons)
    shadow = ShadowStore(store, group)
    profile = await shadow.profile(group)
    if profile is None:
        return
    owner = lease_owner.owner_name(str(uuid4()))
    async with held_lease(shadow, group, profile, owner=owner, clock=clock, ttl=ttl) as lease:
        # A run may have added turns meanwhile: what it recorded stays, the verdict is of before.
        current = open_migration(await store.migrations(), group)
        if current is not None and current.migration_id == side.migration.migration_id:
            judged = replace(current, verdict=encoded(verdict))
            await shadow.save_migration(lease, judged, now=clock(), ttl=ttl)
