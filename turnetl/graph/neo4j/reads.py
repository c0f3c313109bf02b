"""Reads of a Neo4j graph, and the writing of communities in the transaction of a caller."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from operator import attrgetter
from typing import Any, LiteralString

import polars as pl
from neo4j import AsyncTransaction

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
from turnetl.graph import from_rows, group_tables, to_rows
from turnetl.graph.from_rows import FACT_TIMES, in_order
from turnetl.graph.group_tables import GroupTables
from turnetl.graph.migrations import (
    MIGRATIONS,
    MigrationSummary,
    OtherRelation,
    TurnMigration,
    decoded,
    summaries,
)
from turnetl.graph.neo4j import cypher, rows
from turnetl.graph.neo4j.client import Neo4jClient
from turnetl.graph.neo4j.cypher import ENDS, LINK, OWN_RELATIONS, SMALL_PAGE, in_pages, microsecond
from turnetl.graph.neo4j.rows import ENTITY_TIMES, EPISODE_TIMES, from_microseconds
from turnetl.graph.session_level import (
    SessionLevelData,
    UnrecordedEpisode,
    later_chunks,
    session_level_data,
    surplus_groups,
)

_MEMBERS: LiteralString = in_pages(
    "MATCH (:Community {group_id: $group})-[item:HAS_MEMBER]->(:Entity)", ENDS, is_there=LINK
)
_DELETE: LiteralString = """
UNWIND $uuids AS uuid
MATCH (c:Community {uuid: uuid})
WHERE c.group_id = $group
DETACH DELETE c
"""
_CREATE: LiteralString = """
UNWIND $rows AS row
CREATE (c:Community)
SET c = row
WITH c, row
CALL db.create.setNodeVectorProperty(c, 'name_embedding', row.name_embedding)
"""
_LINK: LiteralString = """
UNWIND $rows AS row
MATCH (c:Community {uuid: row.source})
MATCH (n:Entity {uuid: row.target})
WHERE n.group_id = $group
CREATE (c)-[:HAS_MEMBER {uuid: row.uuid, group_id: $group, created_at: $now}]->(n)
RETURN count(*) AS done
"""
_GROUPS: LiteralString = """
MATCH (e:Episodic)
WHERE e.group_id IS NOT NULL
RETURN DISTINCT e.group_id AS group_id ORDER BY group_id
"""


def zoned_time(name: LiteralString) -> LiteralString:
    """Return an entry of a map: a time of the item; null if it is no time with a zone."""
    value: LiteralString = f"item.{name}"
    return f"""{name}: CASE WHEN {value} IS :: ZONED DATETIME NOT NULL
    THEN {value}.epochSeconds * 1000000 + {value}.microsecond END"""


_UNRECORDED_EPISODES: LiteralString = in_pages(
    f"{cypher.EPISODE_ITEMS} WHERE NOT EXISTS {{ (:TurnCommit {{turn_id: item.uuid}}) }}",
    f"""item {{.uuid, .name, .content, .source, .source_description,
    {zoned_time("created_at")}, {zoned_time("valid_at")}}}""",
    SMALL_PAGE,
)
_CHUNKED: LiteralString = """
MATCH (c:TurnCommit {group_id: $group})
WHERE c.chunks > 1
RETURN c.turn_id AS turn_id, c.chunks AS chunks
"""
_MENTIONS: LiteralString = """
UNWIND $uuids AS uuid
MATCH (e:Episodic {uuid: uuid})-[:MENTIONS]->(n:Entity)
RETURN uuid AS counted, count(DISTINCT n) AS count
"""
_UNRECORDED_FACTS: LiteralString = """
MATCH ()-[f:RELATES_TO {group_id: $group}]->()
UNWIND f.episodes AS uuid
WITH uuid, count(DISTINCT f) AS count
WHERE uuid IN $uuids
RETURN uuid AS counted, count
"""
_SIZES: LiteralString = """
MATCH (n:Entity {group_id: $group})
WHERE n.name_embedding IS NOT NULL
RETURN size(n.name_embedding) AS counted, count(*) AS count
"""
# Each is answered by the count store.
CONTENT_COUNTS: LiteralString = """
RETURN COUNT { (:Episodic) } AS episodes, COUNT { (:TurnCommit) } AS turns,
       COUNT { (:Entity) } AS entities, COUNT { ()-[:RELATES_TO]->() } AS facts,
       COUNT { ()-[:MENTIONS]->() } AS mentions
"""
_EPISODES: LiteralString = """
MATCH (e:Episodic)
WHERE e.group_id IS NOT NULL
RETURN e.group_id AS counted, count(*) AS count
"""
_CHUNKS: LiteralString = """
MATCH (c:TurnCommit) RETURN c.group_id AS counted, sum(c.chunks) AS count
"""
_FACT: LiteralString = f"""item {{.uuid, .name, .fact, .episodes,
    source_node_uuid: startNode(item).uuid, target_node_uuid: endNode(item).uuid,
    vector: CASE WHEN $vectors THEN item.fact_embedding END,
    {", ".join(map(zoned_time, FACT_TIMES))}}}"""
_FACTS: LiteralString = in_pages(
    "MATCH (:Entity)-[item:RELATES_TO {group_id: $group}]->(:Entity)", _FACT, SMALL_PAGE
)
_ENTITY: LiteralString = f"""item {{.uuid, .name, .summary, labels: labels(item),
    vector: CASE WHEN $vectors THEN item.name_embedding END, {zoned_time("created_at")}}}"""
_ENTITIES: LiteralString = in_pages(cypher.ENTITY_ITEMS, _ENTITY, SMALL_PAGE)
# Times are microseconds since 1970.
_COMMIT_TABLE: LiteralString = in_pages(
    f"{cypher.COMMIT_ITEMS} WHERE NOT item.turn_id IN $without",
    f"""[
    item.turn_id, item.session_id, item.chunks, item.content_hash, item.text_hash,
    {microsecond("started_at")}, {microsecond("ended_at")}, {microsecond("committed_at")},
    item.sequence, item.before_images, item.summaries
    ]""",
)
_SEQUENCES: LiteralString = in_pages(cypher.COMMIT_ITEMS, "[item.turn_id, item.sequence]")
_SEQUENCE_COLUMNS = pl.Schema({"turn_id": pl.String(), "sequence": pl.Int64()})
_ENTITY_TABLE: LiteralString = in_pages(
    cypher.ENTITY_ITEMS, "[item.uuid, item.name, labels(item), size(item.name_embedding)]"
)
_FACT_TABLE: LiteralString = in_pages(
    cypher.FACT_ITEMS,
    f"""[
    item.uuid,
    CASE WHEN startNode(item):Entity THEN startNode(item).uuid END,
    CASE WHEN startNode(item):Entity THEN startNode(item).group_id END,
    CASE WHEN endNode(item):Entity THEN endNode(item).uuid END,
    CASE WHEN endNode(item):Entity THEN endNode(item).group_id END,
    item.episodes,
    {microsecond("valid_at")},
    size(item.fact_embedding)
    ]""",
)
_MENTION_TABLE: LiteralString = in_pages(
    "MATCH (:Episodic {group_id: $group})-[item:MENTIONS]->(:Entity)",
    "[startNode(item).uuid, endNode(item).uuid, endNode(item).group_id]",
    is_there=LINK,
)
_EPISODE_TABLE: LiteralString = in_pages(
    cypher.EPISODE_ITEMS, "[item.uuid, item.source_description]"
)
_SAGA_TABLE: LiteralString = in_pages(
    "MATCH (item:Saga {group_id: $group})",
    "[item.uuid, item.first_episode_uuid, item.last_episode_uuid]",
)
_SAGA_LINKS: LiteralString = in_pages(
    "MATCH (:Episodic {group_id: $group})<-[item:HAS_EPISODE]-(:Saga)", ENDS, is_there=LINK
)
_NEXT_LINKS: LiteralString = in_pages(
    "MATCH (:Episodic {group_id: $group})-[item:NEXT_EPISODE]->(:Episodic)", ENDS, is_there=LINK
)

_RELATIONS: LiteralString = f"""
MATCH (item:Entity|Episodic|Saga|Community)-[r]-(other)
WHERE item.group_id IN $groups
WITH item, r, other, type(r) IN {OWN_RELATIONS} AS is_own,
     (other:Entity OR other:Episodic OR other:Saga OR other:Community)
     AND coalesce(other.group_id IN $groups, false) AS is_inside
WHERE CASE
    WHEN NOT is_own THEN true
    WHEN type(r) = 'RELATES_TO' THEN NOT is_inside OR NOT coalesce(r.group_id IN $groups, false)
    ELSE NOT is_inside AND endNode(r) = item
END
RETURN DISTINCT item.uuid AS node,
    CASE WHEN NOT is_own AND is_inside THEN other.uuid END AS other
ORDER BY node, other
"""


class Neo4jReader:
    """The reads of a `GraphStore` over a client."""

    _client: Neo4jClient

    async def groups(self) -> list[GroupId]:
        return [GroupId(row["group_id"]) for row in await self._client.read(cypher.GROUPS)]

    async def receipts(self, group: GroupId) -> list[Receipt]:
        commits = await self._client.paged_rows(cypher.RECEIPTS, group=group)
        return sorted(map(rows.receipt, commits), key=attrgetter("started_at", "turn_id"))

    async def counts(self, group: GroupId) -> tuple[int, int, int]:
        [row] = await self._client.read(cypher.COUNTS, group=group)
        return row["episodes"], row["entities"], row["facts"]

    async def recipes(self, digests: Collection[str]) -> dict[str, RecipeParts]:
        found = await self._client.read(cypher.RECIPES, digests=sorted(set(digests)))
        return {row["recipe"]: from_rows.recipe_parts(row["parts"]) for row in found}

    async def load(self, group: GroupId) -> GroupContents:
        profile = await self.profile(group)
        entities = await self._entities(cypher.ENTITIES, group=group)
        facts = await self._facts(cypher.FACTS, group=group)
        contents = dict(await self._client.paged_rows(cypher.EPISODE_CONTENTS, group=group))
        receipts = await self.receipts(group)
        records = await self._client.paged_rows(cypher.RECORDS, group=group)
        return GroupContents(
            group_id=group,
            profile=profile,
            entities=tuple(entities),
            facts=tuple(facts),
            receipts=tuple(receipts),
            texts=from_rows.turn_texts(receipts, contents),
            summaries={TurnId(turn): recorded for _, turn, recorded in sorted(records)},
        )

    async def load_subgraphs(self, group: GroupId) -> Subgraphs:
        episodes = await self._client.paged_rows(cypher.EPISODES, group=group)
        mentions = await self._client.paged_rows(cypher.MENTIONS, group=group)
        communities = await self.communities(group)
        timed = (from_microseconds(row, EPISODE_TIMES) for row in episodes)
        return from_rows.subgraphs_from_rows(timed, mentions, communities)

    async def communities(self, group: GroupId) -> tuple[Community, ...]:
        found = await self._client.read(cypher.COMMUNITIES, group=group)
        members = await self._client.paged_rows(_MEMBERS, group=group)
        timed = (from_microseconds(row["properties"], ENTITY_TIMES) for row in found)
        return from_rows.communities_from_rows(timed, members)

    async def profile(self, group: GroupId) -> GroupProfile | None:
        found = await self._client.read(cypher.LEASE_STATE, group=group)
        return rows.lease_state(found[0]).profile if found else None

    async def versions(self) -> dict[GroupId, GroupVersion]:
        return {
            GroupId(row["group_id"]): GroupVersion(
                row["sequence"], row["turns"], row["creation_id"]
            )
            for row in await self._client.read(cypher.VERSIONS)
        }

    async def commits(self, group: GroupId, after: int, limit: int) -> list[CommittedTurn]:
        found = await self._client.read(cypher.COMMITS_AFTER, group=group, after=after, limit=limit)
        commits = [rows.commit(row["commit"]) for row in found]
        uuids = [uuid for receipt, _ in commits for uuid in from_rows.chunk_ids(receipt)]
        episodes = await self._client.read(cypher.SOME_EPISODE_CONTENTS, uuids=uuids)
        contents = {row["uuid"]: row["content"] for row in episodes}
        return [from_rows.committed_turn(*commit, contents) for commit in commits]

    async def commit_records(
        self, group: GroupId, turns: Collection[TurnId] | None = None
    ) -> list[CommitRecord]:
        selected = None if turns is None else sorted(set(turns))
        found = await self._client.paged_rows(cypher.COMMIT_RECORDS, group=group, turns=selected)
        mentions = await self._client.paged_rows(cypher.MENTIONS, group=group)
        fact_ends = await self._client.paged_rows(cypher.FACT_ENDS, group=group)
        return from_rows.commit_records(map(rows.commit, found), mentions, fact_ends)

    async def runs(self) -> list[TurnRun]:
        found = await self._client.read(cypher.RUNS)
        runs = (from_rows.run_from_row(rows.with_python_times(row["run"])) for row in found)
        return sorted(runs, key=attrgetter("started_at", "run_id"), reverse=True)

    async def run_totals(self) -> dict[str, RunTotals]:
        found = await self._client.read(from_rows.RUN_TOTALS)
        return {row["run_id"]: from_rows.run_totals_from_row(row) for row in found}

    async def turn_ids(self, group: GroupId) -> frozenset[TurnId]:
        return frozenset(map(TurnId, await self._client.paged_rows(cypher.TURN_IDS, group=group)))

    async def entities(self, group: GroupId, uuids: Collection[str]) -> list[Entity]:
        unique = sorted(set(uuids))
        return await self._entities(cypher.SOME_ENTITIES, group=group, uuids=unique)

    async def facts(self, group: GroupId, uuids: Collection[str]) -> list[Fact]:
        return await self._facts(cypher.SOME_FACTS, group=group, uuids=sorted(set(uuids)))

    async def _entities(self, query: LiteralString, **parameters: Any) -> list[Entity]:
        pages = self._client.pages(query, **parameters)
        return in_order([rows.entity(row) async for page in pages for row in page])

    async def _facts(self, query: LiteralString, **parameters: Any) -> list[Fact]:
        pages = self._client.pages(query, **parameters)
        return in_order([rows.fact(row) async for page in pages for row in page])

    async def tables(self, group: GroupId) -> GroupTables:
        """Return the tables, read one after the other, in the order that `GroupTables` requires."""

        async def read(query: LiteralString, columns: pl.Schema) -> pl.DataFrame:
            return await _frame(self._client.pages(query, group=group), columns)

        commits = await self._commit_table(group, without=[])
        return GroupTables(
            commits=commits,
            entities=await read(_ENTITY_TABLE, group_tables.ENTITIES),
            facts=await read(_FACT_TABLE, group_tables.FACTS),
            mentions=await read(_MENTION_TABLE, group_tables.MENTIONS),
            episodes=await read(_EPISODE_TABLE, group_tables.EPISODES),
            sagas=await read(_SAGA_TABLE, group_tables.SAGAS),
            saga_links=await read(_SAGA_LINKS, group_tables.LINKS),
            next_links=await read(_NEXT_LINKS, group_tables.LINKS),
            commits_after=await self._commits_after(
                group, commits, await read(_SEQUENCES, _SEQUENCE_COLUMNS)
            ),
        )

    async def _commit_table(self, group: GroupId, *, without: list[str]) -> pl.DataFrame:
        pages = self._client.pages(_COMMIT_TABLE, group=group, without=without)
        commits = ([group_tables.commit_row(row) for row in page] async for page in pages)
        return await _frame(commits, group_tables.COMMITS)

    async def _commits_after(
        self, group: GroupId, before: pl.DataFrame, present: pl.DataFrame
    ) -> pl.DataFrame:
        """Return those of `before` that are still present, and read those made since."""
        kept = before.join(present, on=present.columns, how="semi")
        if kept.height == present.height:
            return kept
        new = await self._commit_table(group, without=kept["turn_id"].to_list())
        return pl.concat([kept, new])

    async def episode_groups(self) -> list[GroupId]:
        return [GroupId(row["group_id"]) for row in await self._client.read(_GROUPS)]

    async def unrecorded_episodes(self, group: GroupId) -> list[UnrecordedEpisode]:
        found = await self._client.paged_rows(_UNRECORDED_EPISODES, group=group)
        chunked = await self._client.read(_CHUNKED, group=group)
        own = later_chunks([(row["turn_id"], row["chunks"]) for row in chunked])
        others = [row for row in found if row["uuid"] not in own]
        uuids = [row["uuid"] for row in others]
        mentions = await self._counted(_MENTIONS, uuids=uuids)
        facts = await self._counted(_UNRECORDED_FACTS, group=group, uuids=uuids)
        timed = (from_microseconds(row, EPISODE_TIMES) for row in others)
        episodes = (from_rows.unrecorded_episode(group, row, mentions, facts) for row in timed)
        return sorted(episodes, key=attrgetter("uuid"))

    async def embedding_sizes(self, group: GroupId) -> dict[int, int]:
        return await self._counted(_SIZES, group=group)

    async def content_state(self) -> str:
        [row] = await self._client.read(CONTENT_COUNTS)
        return " ".join(str(count) for count in row.values())

    async def session_level_groups(self) -> list[GroupId]:
        return surplus_groups(await self._counted(_EPISODES), await self._counted(_CHUNKS))

    async def _counted(self, query: LiteralString, **parameters: Any) -> dict[Any, int]:
        return {
            row["counted"]: row["count"] for row in await self._client.read(query, **parameters)
        }

    async def session_level(self, group: GroupId, *, vectors: bool) -> SessionLevelData:
        episodes = await self.unrecorded_episodes(group)
        if not episodes:
            return session_level_data(group, (), (), (), ())
        facts = await self._client.paged_rows(_FACTS, group=group, vectors=vectors)
        entities = await self._client.paged_rows(_ENTITIES, group=group, vectors=vectors)
        mentions = await self._client.paged_rows(cypher.MENTIONS, group=group)
        return session_level_data(
            group,
            episodes,
            [from_rows.fact_of(group, *_embedded(row)) for row in facts],
            [from_rows.entity_of(group, *_embedded(row)) for row in entities],
            [Mention(episode, entity) for episode, entity in mentions],
        )

    async def migrations(self) -> Sequence[TurnMigration]:
        return decoded(await self._states())

    async def migration_summaries(self) -> Sequence[MigrationSummary]:
        return summaries(await self._states())

    async def _states(self) -> list[str]:
        return [row["state"] for row in await self._client.read(MIGRATIONS)]

    async def other_relations(self, groups: Sequence[GroupId]) -> Sequence[OtherRelation]:
        found = await self._client.read(_RELATIONS, groups=list(groups))
        return [OtherRelation(row["node"], row["other"]) for row in found]


def _embedded(row: Mapping[str, Any]) -> tuple[dict[str, Any], Vector | None]:
    return from_microseconds(row, FACT_TIMES), rows.vector(row.get("vector"))


async def write_communities(
    transaction: AsyncTransaction, group: GroupId, batch: CommunityBatch, now: datetime
) -> None:
    """Write the batch; as `GraphStore.write_communities`, in a transaction of the caller."""
    replaced = [*batch.removed, *(community.uuid for community in batch.written)]
    await transaction.run(_DELETE, uuids=replaced, group=group)
    communities = [to_rows.community_row(community) for community in batch.written]
    await transaction.run(_CREATE, rows=communities)
    links = [asdict(link) for one in batch.written for link in to_rows.member_links(one)]
    result = await transaction.run(_LINK, rows=links, group=group, now=now)
    if (await result.single(strict=True))["done"] != len(links):
        raise to_rows.missing_member(group)


async def _frame(pages: AsyncIterator[Sequence[Sequence[Any]]], columns: pl.Schema) -> pl.DataFrame:
    """Return the rows of all pages; one page at a time is Python objects."""
    read_as = pl.Schema(
        {
            name: pl.Int64() if isinstance(dtype, pl.Datetime) else dtype
            for name, dtype in columns.items()
        }
    )
    frames = [pl.DataFrame(page, schema=read_as, orient="row") async for page in pages]
    return pl.concat([pl.DataFrame(schema=read_as), *frames]).cast(columns)
