"""The index of session-level episodes: beside that of turns, and only if the graph has some.

It is an index of its own, so that no command that reads turns meets an episode that is none. It is
in the folder of the index of turns, which is deleted and built again as a whole.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from turnetl.base import ids
from turnetl.base.batched import batched
from turnetl.base.graph_model import CommittedTurn, Receipt
from turnetl.base.ids import is_shadow
from turnetl.base.model import Fact, GroupId, SessionId, TurnId, Usage
from turnetl.graph.session_level import UNKNOWN_TIME, SessionLevelData, UnrecordedEpisode
from turnetl.index.follow import BatchWriter, TurnBatch, forget
from turnetl.index.index_report import CatchUpReport
from turnetl.index.parts import IndexParts
from turnetl.index.persistent import PersistentIndex
from turnetl.llm.embedders import Embedder

_FOLDER = "sessions"
"""Name of the folder in that of the index of turns."""
_BATCH = 100
"""Episodes that are written together: a kill loses at most their embeddings."""
_CREATION = "session-level"
"""Stands for the creation id of a group: such data have none."""

SessionNames = Callable[[Sequence[UnrecordedEpisode]], Mapping[str, SessionId]]
"""Returns the session that each episode names, by its uuid, without those that name none."""


class SessionLevelGraph(Protocol):
    """The part of a `GraphStore` that this index reads; its methods are described there."""

    async def session_level_groups(self) -> Sequence[GroupId]: ...

    async def session_level(self, group: GroupId, *, vectors: bool) -> SessionLevelData: ...

    async def pause(self) -> None: ...


def session_index_folder(folder: Path) -> Path:
    return folder / _FOLDER


class SessionIndex(PersistentIndex):
    """`PersistentIndex` of session-level episodes; the keys and methods of turns are theirs."""

    async def follow(
        self,
        graph: SessionLevelGraph,
        embedder: Embedder,
        names: SessionNames,
        announce: Callable[[Sequence[CommittedTurn]], None],
        moving: Collection[GroupId] = (),
    ) -> CatchUpReport:
        """Read what changed of the session-level data of all groups but the shadow groups.

        Episodes of a group are announced before they are embedded. Of the groups whose data a
        migration moves, the index keeps what it has.
        """
        with self.writing() as parts:
            parts.remove_words()
            added = removed = 0
            found = await graph.session_level_groups()
            groups = [group for group in found if not is_shadow(group) and group not in moving]
            for known in parts.catalog.groups():
                if known.group_id not in groups and known.group_id not in moving:
                    removed += forget(parts, parts.catalog.turn_ids(known.group_id))
                    with parts.catalog.transaction():
                        parts.catalog.remove_group(known.group_id)
            writer = BatchWriter(parts, embedder)
            for group in groups:
                data = await graph.session_level(group, vectors=False)
                changed, gone = _changes(parts, data, names)
                removed += forget(parts, gone)
                announce(changed)
                for batch in _batches(parts, data, changed):
                    # Embedding takes most of the time; an ingest can start meanwhile.
                    await graph.pause()
                    await writer.write(batch)
                added += len(changed)
            return CatchUpReport(added, removed)

    async def forget_moved(self, graph: SessionLevelGraph, groups: Collection[GroupId]) -> None:
        """Forget the episodes of these groups that are no longer among their session-level data."""
        with self.writing() as parts:
            for known in parts.catalog.groups():
                if known.group_id in groups:
                    data = await graph.session_level(known.group_id, vectors=False)
                    present = {TurnId(one.uuid) for one in data.episodes}
                    forget(parts, parts.catalog.turn_ids(known.group_id) - present)


def _changes(
    parts: IndexParts, data: SessionLevelData, names: SessionNames
) -> tuple[list[CommittedTurn], list[TurnId]]:
    """Return the episodes to write, and those that are gone."""
    with parts.catalog.transaction():
        parts.catalog.add_group(data.group_id, _CREATION)
    held = {one.turn_id: one.content_hash for one in parts.catalog.receipts(data.group_id)}
    found = indexed_episodes(data, names(data.episodes))
    changed = [one for one in found if held.get(one.receipt.turn_id) != one.receipt.content_hash]
    present = {one.receipt.turn_id for one in found}
    return changed, [episode for episode in held if episode not in present]


def _batches(
    parts: IndexParts, data: SessionLevelData, changed: Sequence[CommittedTurn]
) -> Iterator[TurnBatch]:
    entities = {entity.uuid: entity for entity in data.entities}
    facts = {fact.uuid: fact for fact in data.facts}
    for episodes in batched(changed, _BATCH):
        keys = parts.catalog.turn_keys([one.receipt.turn_id for one in episodes]).values()
        old_entities, old_facts = parts.catalog.touched(keys)
        touched = {uuid for one in episodes for uuid in one.entities}
        stated = {uuid for one in episodes for uuid in one.facts}
        yield TurnBatch(
            data.group_id,
            episodes,
            [entities[uuid] for uuid in sorted(touched & entities.keys())],
            [facts[uuid] for uuid in sorted(stated)],
            questions={},
            entities_gone=old_entities - touched,
            facts_gone=old_facts - stated,
        )


def episode_text(episode: UnrecordedEpisode) -> str:
    return f"{' '.join(episode.name.split())}\n\n{episode.text}"


def indexed_episodes(
    data: SessionLevelData, sessions: Mapping[str, SessionId]
) -> list[CommittedTurn]:
    """Return the episodes of a group as an index holds turns, by uuid, with the sessions they name.

    Their `content_hash` changes with all that is indexed of them, but for the names of entities.
    """
    facts: dict[str, list[Fact]] = {}
    for fact in data.facts:
        for episode in fact.turns:
            facts.setdefault(episode, []).append(fact)
    entities: dict[str, set[str]] = {}
    for mention in data.mentions:
        entities.setdefault(mention.episode, set()).add(mention.entity)
    return [
        _indexed(
            one,
            sessions.get(one.uuid, SessionId("")),
            facts.get(one.uuid, []),
            entities.get(one.uuid, set()),
        )
        for one in data.episodes
    ]


def _indexed(
    episode: UnrecordedEpisode, session: SessionId, facts: list[Fact], entities: set[str]
) -> CommittedTurn:
    text = episode_text(episode)
    stated = [
        f"{fact.uuid} {fact.text} {fact.relation} {fact.valid_at} {fact.invalid_at}"
        for fact in facts
    ]
    digest = ids.digest(text, session, str(episode.valid_at), *stated, "", *sorted(entities))
    ends = {end for fact in facts for end in (fact.source, fact.target)}
    return CommittedTurn(
        receipt=_receipt(episode, session, digest),
        sequence=0,
        text=text,
        entities=tuple(sorted(entities | ends)),
        facts=tuple(fact.uuid for fact in facts),
    )


def _receipt(episode: UnrecordedEpisode, session: SessionId, digest: str) -> Receipt:
    """Return what stands for a receipt: `archive` is the episode's name, what it lacks is empty."""
    return Receipt(
        turn_id=TurnId(episode.uuid),
        group_id=episode.group_id,
        format="",
        session_id=session,
        ordinal=0,
        parent_session_id=None,
        agent_id=None,
        run_id="",
        content_hash=digest,
        text_hash="",
        chunks=1,
        extractor="",
        model=None,
        recipe="",
        committed_at=episode.created_at or UNKNOWN_TIME,
        started_at=episode.valid_at or episode.created_at or UNKNOWN_TIME,
        ended_at=None,
        cwd=None,
        git_branch=None,
        tools=(),
        archive=" ".join(episode.name.split()),
        first_line=0,
        last_line=0,
        usage=Usage(),
        entities_new=0,
        facts_new=0,
        facts_invalidated=0,
    )
