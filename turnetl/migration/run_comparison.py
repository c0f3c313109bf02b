"""Compare the old data of a migration with its turns, by facts and search; record the verdict."""

import asyncio
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from tempfile import gettempdir

from turnetl import wiring
from turnetl.base.batched import grouped
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage
from turnetl.base.graph_model import CommittedTurn, GroupContents, GroupVersion
from turnetl.base.model import Entity, Fact, GroupId, SessionId, TurnId
from turnetl.base.progress import Progress, ProgressUpdate, ignore_progress
from turnetl.graph.migrations import MigrationPhase, TurnMigration, remedy
from turnetl.graph.port import GraphStore
from turnetl.graph.session_level import SessionLevelData
from turnetl.graph.shadow_store import ShadowStore
from turnetl.index.persistent import PersistentIndex
from turnetl.index.session_index import SessionIndex
from turnetl.ingestion.held_lease import held_lease
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.lake.temporary import shared_temporary_folder
from turnetl.llm.embedders import Embedder
from turnetl.llm.embedders.static_model import WordLlamaEmbedder
from turnetl.migration.classify import EpisodeClassifier
from turnetl.migration.comparison import (
    CompareVerdict,
    GroupComparison,
    MigrationComparison,
    ProbeResult,
    SearchProbe,
    encoded_verdict,
    state_digest,
)
from turnetl.migration.matching import (
    OldData,
    compare,
    embedded_facts,
    generated_probes,
    of_known_sessions,
    rank_of,
    read_probes,
    replaced_part,
    turns_part,
)
from turnetl.migration.migration_report import open_migration
from turnetl.migration.sessions import loaded_sessions
from turnetl.pipeline.group_names import select_groups
from turnetl.pipeline.index import check_graph
from turnetl.pipeline.run_options import new_ingest_run
from turnetl.retrieval.search import search
from turnetl.settings import Settings
from turnetl.settings.sections import MigrationSettings

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
    """Compare the old data of each open migration with its turns, and record the verdicts.

    All texts are embedded by the built-in embedder: vectors of a graph may be of any.
    """
    check_graph(settings)
    asked = read_probes(questions) if questions is not None else None
    thresholds = settings.migration
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
    if asked is None:
        return {one.migration.group_id: generated_probes(one.old) for one in loaded}
    return of_known_sessions(asked, {one.migration.group_id: one.sessions for one in loaded})


@dataclass(frozen=True, slots=True)
class _Comparer:
    thresholds: MigrationSettings
    embedder: Embedder
    clock: Clock
    progress: Progress
    are_generated: bool

    async def compared(self, side: _Loaded, probes: Sequence[SearchProbe]) -> GroupComparison:
        old, new, embedder = side.old, side.new, self.embedder
        old_facts = await embedded_facts(old.data.facts, old.data.entities, embedder)
        new_facts = await embedded_facts(new.facts, new.entities, embedder)
        similarity = self.thresholds.fact_similarity
        found = await asyncio.to_thread(
            compare, side.migration, old, new, old_facts, new_facts, similarity=similarity
        )

        def on_probe(done: int) -> None:
            self.progress(ProgressUpdate(_STAGE, "probes", done, len(probes)))

        results = await probe_results(
            probes, old, new, embedder, now=self.clock(), on_probe=on_probe
        )
        compared = replace(found, probes=results, are_probes_generated=self.are_generated)
        reasons = verdict_reasons(compared, self.thresholds, side.migration.phase)
        return replace(compared, reasons=tuple(reasons))


async def _record(
    settings: Settings,
    clock: Clock,
    loaded: Sequence[_Loaded],
    compared: Sequence[GroupComparison],
) -> None:
    run = new_ingest_run(settings, clock)
    async with wiring.store(settings, write=True) as store:
        for side, comparison in zip(loaded, compared, strict=True):
            if side.migration.phase is not MigrationPhase.CUT_OVER:
                await _save(store, side, comparison, run)


async def _save(
    store: GraphStore,
    side: _Loaded,
    comparison: GroupComparison,
    run: IngestRun,
) -> None:
    group = side.migration.group_id
    verdict = CompareVerdict(side.digest, run.clock(), comparison.reasons)
    shadow = ShadowStore(store, group)
    profile = await shadow.profile(group)
    if profile is None:
        return
    async with held_lease(shadow, group, profile, run) as lease:
        # A run may have added turns meanwhile: what it recorded stays, the verdict is of before.
        current = open_migration(await store.migrations(), group)
        if current is not None and current.migration_id == side.migration.migration_id:
            judged = replace(current, verdict=encoded_verdict(verdict))
            await shadow.migrate([lease], None, judged, now=run.clock(), ttl=run.lease_ttl)


_QUANTILE = 1.96
"""Of the normal distribution: 95 % lie within."""


def verdict_reasons(
    comparison: GroupComparison, thresholds: MigrationSettings, phase: MigrationPhase
) -> Iterator[str]:
    """Yield the thresholds that are not met, each as a sentence without a full stop."""
    if phase is MigrationPhase.RUNNING:
        yield "turns are missing: `turnetl migrate run` ingests them"
    empty = sum(
        bool(one.old.episodes) and not one.new.episodes
        for one in comparison.sessions
        if one.session_id is not None
    )
    if empty:
        yield f"{empty:,} of the old sessions have no turn"
    facts = comparison.old.facts
    if facts and _highest_share(comparison.expressed, facts) < thresholds.min_expressed:
        yield (
            f"new facts express {comparison.expressed:.0%} of {facts:,} old facts, "
            f"less than {thresholds.min_expressed:.0%} (`migration.min_expressed`)"
        )
    found = comparison.new_hit_rate
    if found is not None and found < thresholds.min_probe_hits:
        yield (
            f"a search among the turns finds the session of {found:.0%} of "
            f"{len(comparison.probes):,} probes, less than {thresholds.min_probe_hits:.0%} "
            "(`migration.min_probe_hits`)"
        )


def _highest_share(share: float, count: int) -> float:
    """Return the upper end of Wilson's interval for a share of a number of facts."""
    if share >= 1:
        return 1.0
    squared = _QUANTILE**2
    middle = share + squared / (2 * count)
    margin = _QUANTILE * math.sqrt(share * (1 - share) / count + squared / (4 * count**2))
    return (middle + margin) / (1 + squared / count)


PROBE_SESSIONS = 10
"""Distinct sessions among which that of a probe must be."""
_TURNS_PER_SESSION = 3
"""Hits that are looked at for each of them: several turns may be of one session."""
_GROUP = GroupId("compared")
_TEMPORARY = "turnetl-compare"


async def probe_results(
    probes: Sequence[SearchProbe],
    old: OldData,
    new: GroupContents,
    embedder: Embedder,
    *,
    now: datetime,
    on_probe: Callable[[int], None],
) -> tuple[ProbeResult, ...]:
    """Search old and new data with each probe. The indexes are temporary."""
    if not probes:
        return ()
    with shared_temporary_folder(Path(gettempdir()), _TEMPORARY) as folder:
        indexes, of_embedder = folder / "lake" / "index", (embedder.name, embedder.dimensions)
        of_turns = PersistentIndex(indexes / "turns", *of_embedder)
        of_old = SessionIndex(indexes / "sessions", *of_embedder)
        with closing(of_turns) as turns, closing(of_old) as sessions:
            await turns.catch_up(_LoadedTurns(new), embedder, now=now)
            await sessions.follow(
                _LoadedSessions(old.data), embedder, lambda _: old.sessions, lambda _: None
            )
            results: list[ProbeResult] = []
            for probe in probes:
                old_rank = await _rank(sessions, probe, embedder)
                new_rank = await _rank(turns, probe, embedder)
                results.append(ProbeResult(probe, old_rank, new_rank))
                on_probe(len(results))
    return tuple(results)


async def _rank(index: PersistentIndex, probe: SearchProbe, embedder: Embedder) -> int | None:
    limit = PROBE_SESSIONS * _TURNS_PER_SESSION
    found = await search(index, probe.question, embedder, limit=limit, nearest=True)
    rank = rank_of(probe, (hit.session_id or None for hit in found.hits))
    return rank if rank is not None and rank <= PROBE_SESSIONS else None


class _LoadedTurns:
    """`FollowedGraph` over loaded turns, under another group: an index reads no shadow group."""

    def __init__(self, contents: GroupContents) -> None:
        self._contents = contents
        self._entities = {one.uuid: one for one in contents.entities}
        self._facts = {one.uuid: one for one in contents.facts}
        self._of_turn = grouped((turn, fact) for fact in contents.facts for turn in fact.turns)

    async def versions(self) -> Mapping[GroupId, GroupVersion]:
        count = len(self._contents.receipts)
        return {_GROUP: GroupVersion(count, count)}

    async def commits(self, _: GroupId, after: int, limit: int) -> Sequence[CommittedTurn]:
        chosen = self._contents.receipts[after : after + limit]
        found = []
        for number, receipt in enumerate(chosen, start=after + 1):
            facts = self._of_turn.get(receipt.turn_id, [])
            found.append(
                CommittedTurn(
                    replace(receipt, group_id=_GROUP),
                    number,
                    self._contents.texts.get(receipt.turn_id, ""),
                    tuple(sorted({end for one in facts for end in (one.source, one.target)})),
                    tuple(sorted(one.uuid for one in facts)),
                )
            )
        return found

    async def turn_ids(self, _: GroupId) -> frozenset[TurnId]:
        return frozenset(receipt.turn_id for receipt in self._contents.receipts)

    async def entities(self, _: GroupId, uuids: Collection[str]) -> Sequence[Entity]:
        return [self._entities[uuid] for uuid in uuids if uuid in self._entities]

    async def facts(self, _: GroupId, uuids: Collection[str]) -> Sequence[Fact]:
        return [self._facts[uuid] for uuid in uuids if uuid in self._facts]

    async def pause(self) -> None:
        """Do nothing: nothing is open."""


class _LoadedSessions:
    """`SessionLevelGraph` over loaded data, under another group as above."""

    def __init__(self, data: SessionLevelData) -> None:
        episodes = tuple(replace(one, group_id=_GROUP) for one in data.episodes)
        self._data = replace(data, group_id=_GROUP, episodes=episodes)

    async def session_level_groups(self) -> Sequence[GroupId]:
        return [_GROUP]

    async def session_level(self, _: GroupId, *, vectors: bool) -> SessionLevelData:  # noqa: ARG002
        return self._data

    async def pause(self) -> None:
        """Do nothing: nothing is open."""
