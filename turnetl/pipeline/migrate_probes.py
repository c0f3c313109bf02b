"""Answer search probes from old and from new data, each in an index made for the purpose."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from tempfile import gettempdir

from turnetl.base.graph_model import CommittedTurn, GroupContents, GroupVersion
from turnetl.base.model import Entity, Fact, GroupId, TurnId
from turnetl.graph.session_level import SessionLevelData
from turnetl.index.persistent import PersistentIndex
from turnetl.index.session_index import SessionIndex
from turnetl.lake.temporary import shared_temporary_folder
from turnetl.llm.embedders.port import Embedder
from turnetl.migration.compare import OldData
from turnetl.migration.comparison import ProbeResult, SearchProbe
from turnetl.migration.probes import rank_of
from turnetl.retrieval.search import search

PROBE_SESSIONS = 10
"""Distinct sessions among which that of a probe must be."""
_TURNS_PER_SESSION = 3
"""Hits that are looked at for each of them: several turns may be of one session."""
_GROUP = GroupId("compared")
_TEMPORARY = "turnetl-compare"
"""Name of the folder with the indexes."""


async def probe_results(
    probes: Sequence[SearchProbe],
    old: OldData,
    new: GroupContents,
    embedder: Embedder,
    *,
    now: datetime,
    on_probe: Callable[[int], None],
) -> tuple[ProbeResult, ...]:
    """Search old and new data with each probe. The indexes are temporary.

    Args:
        probes: the questions.
        old: the session-level data.
        new: the turns.
        embedder: of both indexes.
        now: the current time.
        on_probe: called with the number of probes that are done.
    """
    if not probes:
        return ()
    with shared_temporary_folder(Path(gettempdir()), _TEMPORARY) as folder:
        of_turns = PersistentIndex(_folder(folder, "turns"), embedder.name, embedder.dimensions)
        of_old = SessionIndex(_folder(folder, "sessions"), embedder.name, embedder.dimensions)
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


def _folder(folder: Path, name: str) -> Path:
    """Return the folder of an index in a lake."""
    return folder / "lake" / "index" / name


class _LoadedTurns:
    """`FollowedGraph` over loaded turns, under another group: an index reads no shadow group."""

    def __init__(self, contents: GroupContents) -> None:
        self._contents = contents
        self._entities = {one.uuid: one for one in contents.entities}
        self._facts = {one.uuid: one for one in contents.facts}
        self._of_turn: dict[TurnId, list[Fact]] = {}
        for fact in contents.facts:
            for turn in fact.turns:
                self._of_turn.setdefault(turn, []).append(fact)

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
