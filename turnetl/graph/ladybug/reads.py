"""Everything that is read from a Ladybug graph. The functions run in the client's thread.

Communities in Ladybug. What writes runs in a transaction of the caller, under its lease.

Read what other programs wrote into a Ladybug graph beside turns, with entities and facts.

Read what another program wrote into a Ladybug graph, into the tables of Graphiti's schema.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, TypeVar

from turnetl.base.graph_model import (
    CommitRecord,
    CommittedTurn,
    Community,
    CommunityBatch,
    GroupContents,
    GroupProfile,
    GroupVersion,
    Mention,
    Receipt,
    RunTotals,
    Subgraphs,
    TurnRun,
)
from turnetl.base.ids import RecipeParts
from turnetl.base.model import Entity, Fact, GroupId, TurnId, Vector
from turnetl.graph import from_rows, session_level, to_rows
from turnetl.graph.from_rows import Recorded, in_order
from turnetl.graph.from_rows import run_totals as totals_by_run
from turnetl.graph.ladybug import cypher, summaries
from turnetl.graph.ladybug import rows as ladybug_rows
from turnetl.graph.ladybug.client import LadybugClient
from turnetl.graph.ladybug.rows import as_utc, vectors_of, with_zone
from turnetl.graph.port import LeaseState
from turnetl.graph.session_level import SessionLevelData, UnrecordedEpisode, later_chunks

_LOOKUPS = 20
_FACTS_READ_PER_LOOKUP = 250
"""A lookup of a fact costs 0.5 ms; a scan costs as much per 250 facts of the graph, 0.27 s at
150,000. Fewer than 20 are not worth counting the facts."""


def groups(client: LadybugClient) -> list[GroupId]:
    return [GroupId(name) for (name,) in client.query(cypher.GROUPS)]


def receipts(client: LadybugClient, group: GroupId) -> list[Receipt]:
    rows = client.query(cypher.RECEIPTS, {"group_id": group})
    found = (ladybug_rows.receipt(json, group) for (json,) in rows)
    return sorted(found, key=attrgetter("started_at", "turn_id"))


def counts(client: LadybugClient, group: GroupId) -> tuple[int, int, int]:
    counted = [client.query(query, {"group_id": group})[0][0] for query in cypher.COUNTS]
    return counted[0], counted[1], counted[2]


def recipes(client: LadybugClient, digests: Collection[str]) -> dict[str, RecipeParts]:
    rows = ((digest, client.query(cypher.RECIPE, {"recipe": digest})) for digest in set(digests))
    return {digest: from_rows.recipe_parts(found[0][0]) for digest, found in rows if found}


def load(client: LadybugClient, group: GroupId) -> GroupContents:
    entity_table = client.table(cypher.ENTITIES, {"group_id": group})
    fact_table = client.table(cypher.FACTS, {"group_id": group})
    committed = receipts(client, group)
    contents = dict(client.query(cypher.EPISODE_CONTENTS, {"group_id": group}))
    return GroupContents(
        group_id=group,
        profile=profile(client, group),
        entities=tuple(in_order(ladybug_rows.entities(entity_table))),
        facts=tuple(in_order(ladybug_rows.facts(fact_table))),
        receipts=tuple(committed),
        texts=from_rows.turn_texts(committed, contents),
        summaries=summaries.records(client, group),
    )


def load_subgraphs(client: LadybugClient, group: GroupId) -> Subgraphs:
    parameters = {"group_id": group}
    return ladybug_rows.subgraphs(
        client.table(cypher.EPISODES, parameters),
        client.query(cypher.MENTIONS, parameters),
        read_communities(client, group),
    )


def lease_state(client: LadybugClient, group: GroupId) -> LeaseState | None:
    rows = client.query(cypher.LEASE_STATE, {"group_id": group})
    if not rows:
        return None
    used = bool(client.query(cypher.HAS_TURNS, {"group_id": group}))
    return ladybug_rows.lease_state(rows[0], used=used)


def profile(client: LadybugClient, group: GroupId) -> GroupProfile | None:
    state = lease_state(client, group)
    return state.profile if state else None


def versions(client: LadybugClient) -> dict[GroupId, GroupVersion]:
    turns = dict(client.query(cypher.TURN_COUNTS))
    return {
        GroupId(group): GroupVersion(sequence, turns.get(group, 0), creation_id)
        for group, sequence, creation_id in client.query(cypher.TURN_GROUPS)
    }


def commits(client: LadybugClient, group: GroupId, after: int, limit: int) -> list[CommittedTurn]:
    # The ids first: a scan of all columns would read the before-images of every commit.
    parameters = {"group_id": group, "after": str(after), "limit": limit}
    return [
        _commit(client, group, turn) for (turn,) in client.query(cypher.COMMITS_AFTER, parameters)
    ]


def commit_records(
    client: LadybugClient, group: GroupId, turns: Collection[TurnId] | None
) -> list[CommitRecord]:
    parameters = {"group_id": group}
    if turns is None:
        rows = client.query(cypher.COMMITS, parameters)
    else:
        lookups = [
            client.query(cypher.COMMIT, parameters | {"turn_id": turn})
            for turn in sorted(set(turns))
        ]
        rows = [row for found in lookups for row in found]
    mentioned: dict[str, list[str]] = {}
    for episode, entity in client.query(cypher.MENTIONS, parameters):
        mentioned.setdefault(episode, []).append(entity)
    ends = {
        uuid: (source, target)
        for uuid, source, target in client.query(cypher.FACT_ENDS, parameters)
    }
    found = ((ladybug_rows.receipt(json, group), Recorded(*rest)) for json, *rest in rows)
    records = (from_rows.commit_record(*one, mentioned, ends) for one in found)
    return sorted(records, key=attrgetter("sequence"))


def runs(client: LadybugClient) -> list[TurnRun]:
    rows = client.table(cypher.RUNS, {}).to_pylist()
    return sorted(map(ladybug_rows.run, rows), key=attrgetter("started_at", "run_id"), reverse=True)


def run_totals(client: LadybugClient) -> dict[str, RunTotals]:
    rows = client.rows(cypher.ALL_RECEIPTS, {})
    return totals_by_run(ladybug_rows.receipt(json, GroupId(group)) for group, json in rows)


def turn_ids(client: LadybugClient, group: GroupId) -> frozenset[TurnId]:
    rows = client.query(cypher.TURN_IDS, {"group_id": group})
    return frozenset(TurnId(turn) for (turn,) in rows)


def entities(client: LadybugClient, group: GroupId, uuids: Collection[str]) -> list[Entity]:
    if not uuids:
        return []
    table = client.table(cypher.SOME_ENTITIES, {"group_id": group, "uuids": sorted(set(uuids))})
    return in_order(ladybug_rows.entities(table))


def facts(client: LadybugClient, group: GroupId, uuids: Collection[str]) -> list[Fact]:
    unique = sorted(set(uuids))
    if len(unique) > _LOOKUPS and len(unique) > _fact_count(client) // _FACTS_READ_PER_LOOKUP:
        tables = [client.table(cypher.SOME_FACTS, {"group_id": group, "uuids": unique})]
    else:
        lookups = ({"group_id": group, "uuid": uuid} for uuid in unique)
        tables = [client.table(cypher.FACT, parameters) for parameters in lookups]
    return in_order(fact for table in tables for fact in ladybug_rows.facts(table))


def _commit(client: LadybugClient, group: GroupId, turn: str) -> CommittedTurn:
    [row] = client.query(cypher.COMMIT, {"group_id": group, "turn_id": turn})
    json, *recorded = row
    receipt = ladybug_rows.receipt(json, group)
    contents = {uuid: _content(client, uuid) for uuid in from_rows.chunk_ids(receipt)}
    return from_rows.committed_turn(receipt, Recorded(*recorded), contents)


def _content(client: LadybugClient, uuid: str) -> str:
    rows: list[Any] = client.query(cypher.EPISODE_CONTENT, {"uuid": uuid})
    return str(rows[0][0]) if rows else ""


def _fact_count(client: LadybugClient) -> int:
    return int(client.query(cypher.FACT_COUNT)[0][0])


_MEMBERS = """
MATCH (c:Community)-[:HAS_MEMBER]->(n:Entity) WHERE c.group_id = $group_id
RETURN c.uuid, n.uuid
"""
_DELETE = "MATCH (c:Community {uuid: $uuid}) WHERE c.group_id = $group_id DETACH DELETE c"
_CREATE = """
CREATE (:Community {uuid: $uuid, name: $name, group_id: $group_id, created_at: $created_at,
    name_embedding: $name_embedding, summary: $summary})
"""
_LINK = """
MATCH (c:Community {uuid: $source}), (n:Entity {uuid: $target})
WHERE n.group_id = $group_id
CREATE (c)-[:HAS_MEMBER {uuid: $uuid, group_id: $group_id, created_at: $now}]->(n)
RETURN n.uuid
"""


def read_communities(client: LadybugClient, group: GroupId) -> tuple[Community, ...]:
    """Return the communities; as `GraphStore.communities`."""
    parameters = {"group_id": group}
    rows = client.table(cypher.COMMUNITIES, parameters).to_pylist()
    members: dict[str, list[str]] = {}
    for community, entity in client.query(_MEMBERS, parameters):
        members.setdefault(community, []).append(entity)
    return from_rows.communities_from_rows(map(ladybug_rows.with_zone, rows), members)


def write_communities(
    client: LadybugClient, group: GroupId, batch: CommunityBatch, now: datetime
) -> None:
    """Write the batch; as `GraphStore.write_communities`."""
    for uuid in batch.removed:
        client.query(_DELETE, {"uuid": uuid, "group_id": group})
    for community in batch.written:
        client.query(_DELETE, {"uuid": community.uuid, "group_id": group})
        client.query(_CREATE, _parameters(community))
        shared = {"group_id": group, "now": ladybug_rows.without_zone(now)}
        for link in to_rows.member_links(community):
            row = {"uuid": link.uuid, "source": link.source, "target": link.target}
            if not client.query(_LINK, row | shared):
                raise to_rows.missing_member(group)


def _parameters(community: Community) -> dict[str, Any]:
    row = to_rows.community_row(community)
    return row | {"created_at": ladybug_rows.without_zone(community.created_at)}


_GROUPS = """
MATCH (e:Episodic)
WHERE e.group_id IS NOT NULL
RETURN DISTINCT e.group_id AS name ORDER BY name
"""
_UUIDS = "MATCH (e:Episodic) WHERE e.group_id = $group_id RETURN e.uuid"
# Without the texts of turns: those may be most of the file.
_EPISODE = """
MATCH (e:Episodic {uuid: $uuid})
RETURN e.name, e.content, e.source, e.source_description, e.created_at, e.valid_at
"""
_MENTIONS = """
MATCH (e:Episodic)-[:MENTIONS]->(n:Entity) WHERE e.group_id = $group_id
RETURN e.uuid, count(DISTINCT n.uuid)
"""
_UNRECORDED_FACTS = """
MATCH (f:RelatesToNode_) WHERE f.group_id = $group_id
UNWIND f.episodes AS uuid
RETURN uuid, count(DISTINCT f.uuid)
"""
_SIZES = """
MATCH (n:Entity) WHERE n.group_id = $group_id AND n.name_embedding IS NOT NULL
RETURN size(n.name_embedding), count(*)
"""


class LadybugUnrecordedReader:
    """`UnrecordedReader` over a client."""

    _client: LadybugClient

    async def episode_groups(self) -> Sequence[GroupId]:
        return await self._client.run(
            lambda client: [GroupId(name) for (name,) in client.query(_GROUPS)]
        )

    async def unrecorded_episodes(self, group: GroupId) -> Sequence[UnrecordedEpisode]:
        return await self._client.run(lambda client: read_episodes(client, group))

    async def embedding_sizes(self, group: GroupId) -> Mapping[int, int]:
        return await self._client.run(
            lambda client: dict(client.query(_SIZES, {"group_id": group}))
        )


def read_episodes(client: LadybugClient, group: GroupId) -> list[UnrecordedEpisode]:
    """See `UnrecordedReader.unrecorded_episodes`."""
    parameters = {"group_id": group}
    committed = [(one.turn_id, one.chunks) for one in receipts(client, group)]
    own = {turn for turn, _ in committed} | later_chunks(committed)
    uuids = sorted(uuid for (uuid,) in client.query(_UUIDS, parameters) if uuid not in own)
    mentions = dict(client.query(_MENTIONS, parameters))
    facts = dict(client.query(_UNRECORDED_FACTS, parameters))
    return [
        _episode(client, group, uuid, (mentions.get(uuid, 0), facts.get(uuid, 0))) for uuid in uuids
    ]


def _episode(
    client: LadybugClient, group: GroupId, uuid: str, counts: tuple[int, int]
) -> UnrecordedEpisode:
    [(*texts, created_at, valid_at)] = client.query(_EPISODE, {"uuid": uuid})
    name, text, source, source_description = (value or "" for value in texts)
    return UnrecordedEpisode(
        uuid=uuid,
        group_id=group,
        name=name,
        text=text,
        source=source,
        source_description=source_description,
        created_at=as_utc(created_at),
        valid_at=as_utc(valid_at),
        entities=counts[0],
        facts=counts[1],
    )


V = TypeVar("V", Entity, Fact)

_COUNTS = (
    "MATCH (e:Episodic) RETURN count(*)",
    "MATCH (c:TurnCommit) RETURN count(*)",
    "MATCH (n:Entity) RETURN count(*)",
    "MATCH (f:RelatesToNode_) RETURN count(*)",
    "MATCH (:Episodic)-[m:MENTIONS]->(:Entity) RETURN count(*)",
)
_EPISODES = """
MATCH (e:Episodic) WHERE e.group_id IS NOT NULL RETURN e.group_id, count(*)
"""
_EMBEDDING = ", {}.{} AS embedding"
_FACTS = """
MATCH (a:Entity)-[:RELATES_TO]->(e:RelatesToNode_)-[:RELATES_TO]->(b:Entity)
WHERE e.group_id = $group_id
RETURN e.uuid AS uuid, a.uuid AS source_node_uuid, b.uuid AS target_node_uuid, e.name AS name,
       e.fact AS fact, e.episodes AS episodes, e.created_at AS created_at, e.valid_at AS valid_at,
       e.invalid_at AS invalid_at, e.expired_at AS expired_at, e.reference_time AS reference_time
"""
_ENTITIES = """
MATCH (n:Entity) WHERE n.group_id = $group_id
RETURN n.uuid AS uuid, n.name AS name, n.labels AS labels, n.summary AS summary,
       n.created_at AS created_at
"""


class LadybugSessionLevelReader(LadybugUnrecordedReader):
    """`SessionLevelReader` over a client."""

    async def content_state(self) -> str:
        return await self._client.run(
            lambda client: " ".join(str(client.query(query)[0][0]) for query in _COUNTS)
        )

    async def session_level_groups(self) -> Sequence[GroupId]:
        return await self._client.run(_surplus_groups)

    async def session_level(self, group: GroupId, *, vectors: bool) -> SessionLevelData:
        return await self._client.run(lambda client: _read(client, group, vectors=vectors))


def _surplus_groups(client: LadybugClient) -> list[GroupId]:
    episodes = dict(client.query(_EPISODES))
    chunks: dict[str, int] = dict(client.query(cypher.TURN_COUNTS))
    for group, count in episodes.items():
        # The number of chunks is in the receipts, which take longer to read.
        if group in chunks and count != chunks[group]:
            chunks[group] = sum(one.chunks for one in receipts(client, GroupId(group)))
    return session_level.surplus_groups(episodes, chunks)


def _read(client: LadybugClient, group: GroupId, *, vectors: bool) -> SessionLevelData:
    episodes = read_episodes(client, group)
    if not episodes:
        return session_level.session_level_data(group, (), (), (), ())
    of_facts = _FACTS + (_EMBEDDING.format("e", "fact_embedding") if vectors else "")
    of_entities = _ENTITIES + (_EMBEDDING.format("n", "name_embedding") if vectors else "")
    return session_level.session_level_data(
        group,
        episodes,
        _values(client, of_facts, group, from_rows.fact_of),
        _values(client, of_entities, group, from_rows.entity_of),
        [Mention(*row) for row in client.query(cypher.MENTIONS, {"group_id": group})],
    )


def _values(
    client: LadybugClient,
    query: str,
    group: GroupId,
    value_of: Callable[[GroupId, Mapping[str, Any], Vector | None], V],
) -> list[V]:
    table = client.table(query, {"group_id": group})
    has_vectors = "embedding" in table.column_names
    rows = (table.drop_columns(["embedding"]) if has_vectors else table).to_pylist()
    vectors = vectors_of(table["embedding"]) if has_vectors else [None] * len(rows)
    pairs = zip(rows, vectors, strict=True)
    return [value_of(group, with_zone(row), vector) for row, vector in pairs]
