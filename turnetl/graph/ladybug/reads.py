"""Reads of a Ladybug graph, and the writing of communities. Runs in the client's thread."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import chain
from operator import attrgetter
from typing import Any

import polars as pl

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
from turnetl.graph.from_rows import Recorded, in_order
from turnetl.graph.from_rows import run_totals as totals_by_run
from turnetl.graph.group_tables import GroupTables
from turnetl.graph.ladybug import cypher
from turnetl.graph.ladybug import rows as ladybug_rows
from turnetl.graph.ladybug.client import LadybugClient
from turnetl.graph.ladybug.rows import embedded, with_zone
from turnetl.graph.migrations import MIGRATIONS, OWN_TYPES, OtherRelation
from turnetl.graph.port import LeaseState
from turnetl.graph.session_level import (
    SessionLevelData,
    UnrecordedEpisode,
    later_chunks,
    session_level_data,
    surplus_groups,
)

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
        summaries={
            TurnId(turn): recorded
            for turn, recorded in client.query(cypher.RECORDS, {"group_id": group})
        },
    )


def load_subgraphs(client: LadybugClient, group: GroupId) -> Subgraphs:
    parameters = {"group_id": group}
    return from_rows.subgraphs_from_rows(
        map(with_zone, client.table(cypher.EPISODES, parameters).to_pylist()),
        client.query(cypher.MENTIONS, parameters),
        communities(client, group),
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
    turns = client.query(cypher.COMMITS_AFTER, parameters)
    return [_commit(client, group, turn) for (turn,) in turns]


def commit_records(
    client: LadybugClient, group: GroupId, turns: Collection[TurnId] | None = None
) -> list[CommitRecord]:
    parameters = {"group_id": group}
    if turns is None:
        rows = client.query(cypher.COMMITS, parameters)
    else:
        lookups = (parameters | {"turn_id": turn} for turn in sorted(set(turns)))
        rows = list(chain.from_iterable(client.query(cypher.COMMIT, one) for one in lookups))
    return from_rows.commit_records(
        ((ladybug_rows.receipt(json, group), Recorded(*recorded)) for json, *recorded in rows),
        client.query(cypher.MENTIONS, parameters),
        client.query(cypher.FACT_ENDS, parameters),
    )


def runs(client: LadybugClient) -> list[TurnRun]:
    rows = map(with_zone, client.table(cypher.RUNS, {}).to_pylist())
    found = map(from_rows.run_from_row, rows)
    return sorted(found, key=attrgetter("started_at", "run_id"), reverse=True)


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
    contents = {
        uuid: str(content)
        for uuid in from_rows.chunk_ids(receipt)
        for (content,) in client.query(cypher.EPISODE_CONTENT, {"uuid": uuid})
    }
    return from_rows.committed_turn(receipt, Recorded(*recorded), contents)


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


def communities(client: LadybugClient, group: GroupId) -> tuple[Community, ...]:
    parameters = {"group_id": group}
    rows = client.table(cypher.COMMUNITIES, parameters).to_pylist()
    return from_rows.communities_from_rows(map(with_zone, rows), client.query(_MEMBERS, parameters))


def write_communities(
    client: LadybugClient, group: GroupId, batch: CommunityBatch, now: datetime
) -> None:
    """Write the batch; as `GraphStore.write_communities`, in a transaction of the caller."""
    shared = {"group_id": group, "now": ladybug_rows.without_zone(now)}
    for uuid in (*batch.removed, *(community.uuid for community in batch.written)):
        client.query(_DELETE, {"uuid": uuid, "group_id": group})
    for community in batch.written:
        client.query(_CREATE, ladybug_rows.parameters(to_rows.community_row(community)))
        for link in to_rows.member_links(community):
            if not client.query(_LINK, asdict(link) | shared):
                raise to_rows.missing_member(group)


_GROUPS = """
MATCH (e:Episodic)
WHERE e.group_id IS NOT NULL
RETURN DISTINCT e.group_id AS name ORDER BY name
"""
_UUIDS = "MATCH (e:Episodic) WHERE e.group_id = $group_id RETURN e.uuid"
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


def episode_groups(client: LadybugClient) -> list[GroupId]:
    return [GroupId(name) for (name,) in client.query(_GROUPS)]


def embedding_sizes(client: LadybugClient, group: GroupId) -> dict[int, int]:
    return dict(client.query(_SIZES, {"group_id": group}))


def unrecorded_episodes(client: LadybugClient, group: GroupId) -> list[UnrecordedEpisode]:
    parameters = {"group_id": group}
    committed = [(one.turn_id, one.chunks) for one in receipts(client, group)]
    own = {turn for turn, _ in committed} | later_chunks(committed)
    uuids = sorted(uuid for (uuid,) in client.query(_UUIDS, parameters) if uuid not in own)
    mentions = dict(client.query(_MENTIONS, parameters))
    facts = dict(client.query(_UNRECORDED_FACTS, parameters))
    # One by one, without the texts of turns: those may be most of the file.
    rows = (client.table(cypher.EPISODE, {"uuid": uuid}).to_pylist()[0] for uuid in uuids)
    return [from_rows.unrecorded_episode(group, with_zone(row), mentions, facts) for row in rows]


_COUNTS = (
    "MATCH (e:Episodic) RETURN count(*)",
    "MATCH (c:TurnCommit) RETURN count(*)",
    "MATCH (n:Entity) RETURN count(*)",
    "MATCH (f:RelatesToNode_) RETURN count(*)",
    "MATCH (:Episodic)-[m:MENTIONS]->(:Entity) RETURN count(*)",
)
_EPISODE_COUNTS = """
MATCH (e:Episodic) WHERE e.group_id IS NOT NULL RETURN e.group_id, count(*)
"""


def content_state(client: LadybugClient) -> str:
    return " ".join(str(client.query(query)[0][0]) for query in _COUNTS)


def session_level_groups(client: LadybugClient) -> list[GroupId]:
    episodes = dict(client.query(_EPISODE_COUNTS))
    chunks: dict[str, int] = dict(client.query(cypher.TURN_COUNTS))
    for group, count in episodes.items():
        # The number of chunks is in the receipts, which take longer to read.
        if group in chunks and count != chunks[group]:
            chunks[group] = sum(one.chunks for one in receipts(client, GroupId(group)))
    return surplus_groups(episodes, chunks)


def session_level(client: LadybugClient, group: GroupId, *, vectors: bool) -> SessionLevelData:
    episodes = unrecorded_episodes(client, group)
    if not episodes:
        return session_level_data(group, (), (), (), ())
    parameters = {"group_id": group}

    def read(query: str, embedding: str) -> Iterator[tuple[dict[str, Any], Vector | None]]:
        return embedded(
            client.table(f"{query}, {embedding} AS embedding" if vectors else query, parameters)
        )

    facts = read(cypher.OTHER_FACTS, "e.fact_embedding")
    entities = read(cypher.OTHER_ENTITIES, "n.name_embedding")
    return session_level_data(
        group,
        episodes,
        [from_rows.fact_of(group, *found) for found in facts],
        [from_rows.entity_of(group, *found) for found in entities],
        [Mention(*row) for row in client.query(cypher.MENTIONS, parameters)],
    )


_OF_GROUP = "WHERE e.group_id = $group_id RETURN e.uuid AS uuid"
_ENTITIES = f"""
MATCH (e:Entity)
{_OF_GROUP}, e.name AS name, e.labels AS labels, size(e.name_embedding) AS dimensions
"""
_FACTS = f"""
MATCH (e:RelatesToNode_)
{_OF_GROUP}, e.episodes AS turns, e.valid_at AS valid_at, size(e.fact_embedding) AS dimensions
"""
# Read apart from the facts: a pattern over both ends finds no fact that lacks one.
_FACT_SOURCES = f"""
MATCH (n:Entity)-[:RELATES_TO]->(e:RelatesToNode_)
{_OF_GROUP}, n.uuid AS source, n.group_id AS source_group
"""
_FACT_TARGETS = f"""
MATCH (e:RelatesToNode_)-[:RELATES_TO]->(n:Entity)
{_OF_GROUP}, n.uuid AS target, n.group_id AS target_group
"""
_ALL_MENTIONS = """
MATCH (e:Episodic)-[:MENTIONS]->(n:Entity) WHERE e.group_id = $group_id
RETURN e.uuid AS episode, n.uuid AS entity, n.group_id AS entity_group
"""
_EPISODES = f"MATCH (e:Episodic) {_OF_GROUP}, e.source_description AS source_description"
_SAGAS = f"""
MATCH (e:Saga) {_OF_GROUP}, e.first_episode_uuid AS first, e.last_episode_uuid AS last
"""
_SAGA_LINKS = """
MATCH (s:Saga)-[:HAS_EPISODE]->(e:Episodic) WHERE e.group_id = $group_id
RETURN s.uuid AS source, e.uuid AS target
"""
_NEXT_LINKS = """
MATCH (a:Episodic)-[:NEXT_EPISODE]->(b:Episodic) WHERE a.group_id = $group_id
RETURN a.uuid AS source, b.uuid AS target
"""

_COMMITS_AT_ONCE = 1_000
"""Of which the rows, with before-images and records of summaries, are in memory: some megabytes."""


def tables(client: LadybugClient, group: GroupId) -> GroupTables:
    """Return the tables; nobody else can write the file meanwhile."""

    def read(query: str, columns: pl.Schema) -> pl.DataFrame:
        return _read(client, query, group, columns)

    commits = _commits(client, group)
    return GroupTables(
        commits=commits,
        entities=read(_ENTITIES, group_tables.ENTITIES),
        facts=_facts(client, group),
        mentions=read(_ALL_MENTIONS, group_tables.MENTIONS),
        episodes=read(_EPISODES, group_tables.EPISODES),
        sagas=read(_SAGAS, group_tables.SAGAS),
        saga_links=read(_SAGA_LINKS, group_tables.LINKS),
        next_links=read(_NEXT_LINKS, group_tables.LINKS),
        commits_after=commits,
    )


def _commits(client: LadybugClient, group: GroupId) -> pl.DataFrame:
    [(latest,)] = client.query(cypher.LATEST_COMMIT, {"group_id": group})
    starts = range(0, latest or 0, _COMMITS_AT_ONCE)
    parts = [_some_commits(client, group, start) for start in starts]
    return pl.concat([pl.DataFrame(schema=group_tables.COMMITS), *parts])


def _some_commits(client: LadybugClient, group: GroupId, after: int) -> pl.DataFrame:
    """Read the commits with the next numbers after this one."""
    *of_receipt, _, _, _ = group_tables.commit_columns()
    numbers = {"after": str(after), "last": str(after + _COMMITS_AT_ONCE)}
    commits = []
    for json, *recorded in client.rows(cypher.SOME_COMMITS, {"group_id": group, **numbers}):
        receipt = ladybug_rows.receipt(json, group)
        values = (getattr(receipt, name) for name in of_receipt)
        commits.append(group_tables.commit_row([*values, *recorded]))
    return pl.DataFrame(commits, schema=group_tables.COMMITS, orient="row")


def _facts(client: LadybugClient, group: GroupId) -> pl.DataFrame:
    columns = group_tables.FACTS

    def read(query: str, *names: str) -> pl.DataFrame:
        return _read(client, query, group, pl.Schema({name: columns[name] for name in names}))

    facts = read(_FACTS, "uuid", "turns", "valid_at", "dimensions")
    for ends in (
        read(_FACT_SOURCES, "uuid", "source", "source_group"),
        read(_FACT_TARGETS, "uuid", "target", "target_group"),
    ):
        # A relationship that is there twice must not double its fact.
        facts = facts.join(ends.unique("uuid", keep="any"), on="uuid", how="left")
    return facts.select(list(columns))


def _read(client: LadybugClient, query: str, group: GroupId, columns: pl.Schema) -> pl.DataFrame:
    frame = pl.DataFrame(pl.from_arrow(client.table(query, {"group_id": group})))
    # Ladybug's times are in UTC, without a zone.
    zoned = frame.with_columns(
        pl.col(pl.Datetime).dt.cast_time_unit("us").dt.replace_time_zone("UTC")
    )
    return zoned.select(pl.col(name).cast(dtype) for name, dtype in columns.items())


_RELATION_TABLES = "CALL show_tables() WHERE type = 'REL' RETURN name"
_ITEM = "(item:Entity:Episodic:Saga:Community)"
_FROM_OTHER_GROUPS = (
    "(other:Episodic)-[:MENTIONS]->(item:Entity)",
    "(other:Community)-[:HAS_MEMBER]->(item:Entity)",
    "(other:Community)-[:HAS_MEMBER]->(item:Community)",
    "(other:Saga)-[:HAS_EPISODE]->(item:Episodic)",
    "(other:Episodic)-[:NEXT_EPISODE]->(item:Episodic)",
    "(other:RelatesToNode_)-[:RELATES_TO]->(item:Entity)",
    "(item:Entity)-[:RELATES_TO]->(other:RelatesToNode_)",
)
_ARE_APART = """
WHERE item.group_id IN $groups AND NOT coalesce(other.group_id, '') IN $groups
RETURN DISTINCT item.uuid
"""


def other_relations(client: LadybugClient, groups: Sequence[GroupId]) -> list[OtherRelation]:
    parameters = {"groups": list(groups)}
    found = {
        OtherRelation(uuid, None)
        for pattern in _FROM_OTHER_GROUPS
        for (uuid,) in client.query(f"MATCH {pattern} {_ARE_APART}", parameters)
    }
    found |= {*_of_other_types(client, groups)}
    return sorted(found, key=lambda relation: (relation.node, relation.other or ""))


def migrations(client: LadybugClient) -> list[str]:
    """Return the states of all migrations as they were saved."""
    # A file that was only read since an older version of turnetl wrote it has no such table.
    if ["TurnMigration"] not in client.query(cypher.TABLES):
        return []
    return [state for (state,) in client.query(MIGRATIONS)]


def _of_other_types(client: LadybugClient, groups: Sequence[GroupId]) -> Iterator[OtherRelation]:
    names = {name for (name,) in client.query(_RELATION_TABLES)} - set(OWN_TYPES)
    for name in sorted(names):
        pattern = f"MATCH {_ITEM}-[:`{name.replace('`', '``')}`]-(other)"
        # Only of a node with a known label: in another table, `uuid` may have another type.
        query = f"""{pattern} WHERE item.group_id IN $groups
        RETURN DISTINCT item.uuid, label(other), id(other)"""
        found = client.query(query, {"groups": list(groups)})
        inside = _inside(client, groups) if found else {}
        for uuid, label, key in found:
            yield OtherRelation(uuid, inside.get((label, key["table"], key["offset"])))


def _inside(client: LadybugClient, groups: Sequence[GroupId]) -> dict[tuple[str, int, int], str]:
    """Return the uuids of the nodes of the groups, by label and place."""
    query = f"MATCH {_ITEM} WHERE item.group_id IN $groups RETURN label(item), id(item), item.uuid"
    nodes = client.query(query, {"groups": list(groups)})
    return {(label, key["table"], key["offset"]): uuid for label, key, uuid in nodes}
