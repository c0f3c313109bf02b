"""Neo4j's statements. Labels and properties are Graphiti's, except TurnCommit and TurnGroup.

A statement that may fail to match a row returns how many rows it wrote, as `done`. No statement
traverses the relationships of a node that many turns mention: new data is created, and existing
data is found through an index on its uuid. Properties are set and read as complete maps, so a
TurnCommit has the columns of `schema.RECEIPTS`.

The driver needs 150 µs of CPU for a record, whatever it holds, and a few for a row within one: rows
are read in pages. The server holds a reference to each item while it reads the properties of one
page after the other.

Each time it runs a statement, the driver makes the text of all its parameters, for a log of level
DEBUG, also if nobody reads that log: of the vectors of a turn, thousands of numbers. It needs 25 µs
to encode a time, and the facts of a turn have dozens, most of them equal.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, LiteralString

from typing_extensions import override

from turnetl.base import schema
from turnetl.graph import migrations
from turnetl.graph.from_rows import FACT_TIMES

NODE: LiteralString = "item.group_id IS NOT NULL"
LINK: LiteralString = "size(labels(startNode(item))) > 0"
"""Whether an item is still there: another transaction may delete it meanwhile."""
ENDS: LiteralString = "[startNode(item).uuid, endNode(item).uuid]"
PAGE: LiteralString = "2000"
"""Rows of a page without vectors or texts: about a megabyte."""
SMALL_PAGE: LiteralString = "200"
"""Rows with vectors or texts: some megabytes."""


def in_pages(
    match: LiteralString,
    row: LiteralString,
    page: LiteralString = PAGE,
    *,
    is_there: LiteralString = NODE,
) -> LiteralString:
    """Return a query for `Neo4jClient.pages`.

    Args:
        match: binds `item`, a node or a relationship.
        row: an expression of the item, a list or a map.
        page: `PAGE` or `SMALL_PAGE`.
        is_there: `NODE`, also for a relationship with a group, or `LINK`.
    """
    return f"""
{match}
WITH collect(item) AS items
UNWIND range(0, size(items) - 1, {page}) AS start
RETURN [item IN items[start..start + {page}] WHERE {is_there} | {row}] AS rows
"""


def microseconds(*times: str) -> LiteralString:
    """Return entries of a map: properties of the item as microseconds since 1970."""
    return ", ".join(f"{time}: {microsecond(time)}" for time in times)


def microsecond(time: str) -> LiteralString:
    """Return a property of the item as microseconds since 1970.

    The driver needs 40 µs to build a time, and less than 1 µs to read an integer.
    """
    return f"item.{time}.epochSeconds * 1000000 + item.{time}.microsecond"


OWN_RELATIONS: LiteralString = f"[{', '.join(repr(kind) for kind in migrations.OWN_TYPES)}]"
"""The types that Graphiti makes, as a list."""


class _Items(list[Any]):
    """A list whose text names its length only."""

    @override
    def __repr__(self) -> str:
        return f"[{len(self):,} items]"


class _Fields(dict[str, Any]):
    """A dict whose text names its keys only."""

    @override
    def __repr__(self) -> str:
        return f"{{{', '.join(self)}}}"


def with_shared_times(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a statement with `rows`; each time in them is sent once.

    In a row, a time is its position in the parameter `times`: see `row_with_times`.
    """
    positions: dict[datetime, int] = {}
    rows = [
        {
            name: positions.setdefault(value, len(positions))
            if isinstance(value, datetime)
            else value
            for name, value in row.items()
        }
        for row in parameters["rows"]
    ]
    return {**parameters, "rows": rows, "times": list(positions)}


def row_with_times(*times: LiteralString) -> LiteralString:
    """Return Cypher for `row`, one of `with_shared_times`, with these of its times as such."""
    return f"row {{.*, {', '.join(f'{time}: $times[row.{time}]' for time in times)}}}"


def abbreviated(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return equal parameters; the text of a list or dict among them takes no time."""
    return {name: _abbreviated(value) for name, value in parameters.items()}


def _abbreviated(value: Any) -> Any:
    if isinstance(value, list):
        return _Items(value)
    return _Fields(value) if isinstance(value, dict) else value


# Graphiti's own names, so that it recognises its indexes.
_GRAPHITI_INDEXES: tuple[LiteralString, ...] = (
    "CREATE INDEX entity_uuid IF NOT EXISTS FOR (n:Entity) ON (n.uuid)",
    "CREATE INDEX episode_uuid IF NOT EXISTS FOR (n:Episodic) ON (n.uuid)",
    "CREATE INDEX saga_uuid IF NOT EXISTS FOR (n:Saga) ON (n.uuid)",
    "CREATE INDEX relation_uuid IF NOT EXISTS FOR ()-[e:RELATES_TO]-() ON (e.uuid)",
    "CREATE INDEX entity_group_id IF NOT EXISTS FOR (n:Entity) ON (n.group_id)",
    "CREATE INDEX episode_group_id IF NOT EXISTS FOR (n:Episodic) ON (n.group_id)",
    "CREATE INDEX relation_group_id IF NOT EXISTS FOR ()-[e:RELATES_TO]-() ON (e.group_id)",
)
_TURNETL_INDEXES: tuple[LiteralString, ...] = (
    "CREATE CONSTRAINT turn_commit IF NOT EXISTS FOR (c:TurnCommit) REQUIRE c.turn_id IS UNIQUE",
    "CREATE CONSTRAINT turn_group IF NOT EXISTS FOR (g:TurnGroup) REQUIRE g.group_id IS UNIQUE",
    "CREATE CONSTRAINT turn_run IF NOT EXISTS FOR (r:TurnRun) REQUIRE r.run_id IS UNIQUE",
    "CREATE CONSTRAINT turn_recipe IF NOT EXISTS FOR (r:TurnRecipe) REQUIRE r.recipe IS UNIQUE",
    "CREATE INDEX turn_commit_group_id IF NOT EXISTS FOR (c:TurnCommit) ON (c.group_id)",
)
_COMMIT_ORDER: LiteralString = """
CREATE CONSTRAINT turn_commit_sequence IF NOT EXISTS
FOR (c:TurnCommit) REQUIRE (c.group_id, c.sequence) IS UNIQUE
"""
_MIGRATION: LiteralString = """
CREATE CONSTRAINT turn_migration IF NOT EXISTS
FOR (m:TurnMigration) REQUIRE m.migration_id IS UNIQUE
"""
SCHEMA = (*_GRAPHITI_INDEXES, *_TURNETL_INDEXES, _COMMIT_ORDER, _MIGRATION)
SCHEMA_NAMES = frozenset(statement.split()[2] for statement in SCHEMA)
ONLINE_INDEXES: LiteralString = "SHOW INDEXES YIELD name, state WHERE state = 'ONLINE' RETURN name"
"""A constraint has an index of its name."""
AWAIT_INDEXES: LiteralString = "CALL db.awaitIndexes($seconds)"

GROUPS: LiteralString = (
    "MATCH (c:TurnCommit) RETURN DISTINCT c.group_id AS group_id ORDER BY group_id"
)
RECEIPT_TIMES = tuple(
    column.name for column in schema.RECEIPTS.columns if column.dtype == schema.TIME
)
_COMMIT_TIMES: LiteralString = microseconds(*RECEIPT_TIMES)
COMMIT_ITEMS: LiteralString = "MATCH (item:TurnCommit {group_id: $group})"
ENTITY_ITEMS: LiteralString = "MATCH (item:Entity {group_id: $group})"
FACT_ITEMS: LiteralString = "MATCH ()-[item:RELATES_TO {group_id: $group}]->()"
EPISODE_ITEMS: LiteralString = "MATCH (item:Episodic {group_id: $group})"
RECEIPTS: LiteralString = in_pages(
    COMMIT_ITEMS, f"item {{.*, before_images: null, summaries: null, {_COMMIT_TIMES}}}"
)
# Counts only what the number includes: another commit may end while the query runs.
VERSIONS: LiteralString = """
MATCH (g:TurnGroup)
WITH g.group_id AS group_id, g.sequence AS sequence, g.creation_id AS creation_id
ORDER BY group_id
RETURN group_id, sequence, creation_id,
       COUNT { MATCH (c:TurnCommit {group_id: group_id}) WHERE c.sequence <= sequence } AS turns
"""
# The order names both properties of the index, so that nothing is sorted.
COMMITS_AFTER: LiteralString = f"""
MATCH (item:TurnCommit)
WHERE item.group_id = $group AND item.sequence > $after
WITH item
ORDER BY item.group_id, item.sequence
LIMIT $limit
RETURN item {{.*, {_COMMIT_TIMES}}} AS commit
"""
COMMIT_RECORDS: LiteralString = in_pages(
    f"{COMMIT_ITEMS} WHERE $turns IS NULL OR item.turn_id IN $turns",
    f"item {{.*, {_COMMIT_TIMES}}}",
    SMALL_PAGE,
)
FACT_ENDS: LiteralString = in_pages(
    FACT_ITEMS, "[item.uuid, startNode(item).uuid, endNode(item).uuid]"
)
TURN_IDS: LiteralString = in_pages(COMMIT_ITEMS, "item.turn_id")
RECORDS: LiteralString = in_pages(COMMIT_ITEMS, "[item.sequence, item.turn_id, item.summaries]")
COUNTS: LiteralString = """
RETURN COUNT { (:Episodic {group_id: $group}) } AS episodes,
       COUNT { (:Entity {group_id: $group}) } AS entities,
       COUNT { ()-[:RELATES_TO {group_id: $group}]->() } AS facts
"""
_ENTITY: LiteralString = f"""{{
    properties: item {{.*, {microseconds("created_at")}}}, labels: labels(item)
}}"""
ENTITIES: LiteralString = in_pages(ENTITY_ITEMS, _ENTITY, SMALL_PAGE)
SOME_ENTITIES: LiteralString = in_pages(
    "UNWIND $uuids AS uuid MATCH (item:Entity {uuid: uuid}) WITH item WHERE item.group_id = $group",
    _ENTITY,
    SMALL_PAGE,
)
_FACT: LiteralString = f"""{{
    properties: item {{.*, {microseconds(*FACT_TIMES)}}},
    source: startNode(item).uuid, target: endNode(item).uuid
}}"""
FACTS: LiteralString = in_pages(FACT_ITEMS, _FACT, SMALL_PAGE)
SOME_FACTS: LiteralString = in_pages(
    """
    UNWIND $uuids AS uuid
    MATCH ()-[item:RELATES_TO {uuid: uuid}]->()
    WITH item WHERE item.group_id = $group
    """,
    _FACT,
    SMALL_PAGE,
)
EPISODE_CONTENTS: LiteralString = in_pages(EPISODE_ITEMS, "[item.uuid, item.content]", SMALL_PAGE)
RECIPES: LiteralString = """
UNWIND $digests AS digest
MATCH (r:TurnRecipe {recipe: digest})
RETURN r.recipe AS recipe, r.parts AS parts
"""
SAVE_RECIPE: LiteralString = "MERGE (r:TurnRecipe {recipe: $recipe}) SET r.parts = $parts"
SOME_EPISODE_CONTENTS: LiteralString = """
UNWIND $uuids AS uuid
MATCH (e:Episodic {uuid: uuid})
RETURN e.uuid AS uuid, e.content AS content
"""
EPISODES: LiteralString = in_pages(
    EPISODE_ITEMS, f"item {{.*, {microseconds('created_at', 'valid_at')}}}", SMALL_PAGE
)
MENTIONS: LiteralString = in_pages(
    "MATCH (:Episodic {group_id: $group})-[item:MENTIONS]->(:Entity)", ENDS, is_there=LINK
)
COMMUNITIES: LiteralString = f"""
MATCH (item:Community {{group_id: $group}})
RETURN item {{.uuid, .group_id, .name, .summary, {microseconds("created_at")}}} AS properties
"""
_STATE: LiteralString = """
RETURN properties(g) AS properties, EXISTS { (:TurnCommit {group_id: $group}) } AS used
"""
LEASE_STATE: LiteralString = f"MATCH (g:TurnGroup {{group_id: $group}}) {_STATE}"

OTHER_VERSION: LiteralString = """
MATCH (g:TurnGroup)
WHERE g.schema_version IS NULL OR g.schema_version <> $version
RETURN g.schema_version AS version
LIMIT 1
"""

# Writing a property locks the node until the transaction ends; a read after that is current.
LOCK_OR_CREATE: LiteralString = f"""
MERGE (g:TurnGroup {{group_id: $group}})
ON CREATE SET g.sequence = 0, g.creation_id = $creation_id
SET g.locked_by = $owner
WITH g
{_STATE}
"""
GRANT: LiteralString = """
MATCH (g:TurnGroup {group_id: $group.group_id})
SET g += $group
REMOVE g.locked_by
"""
_MATCH_LEASE: LiteralString = """
MATCH (g:TurnGroup {group_id: $lease.group_id})
SET g.locked_by = $lease.owner
WITH g
REMOVE g.locked_by
WITH g WHERE g.fence = $lease.fence AND g.lease_owner = $lease.owner
"""
RENEW: LiteralString = f"{_MATCH_LEASE} SET g.lease_until = $until"
RELEASE: LiteralString = f"{_MATCH_LEASE} REMOVE g.lease_owner, g.lease_until"
_LOCK: LiteralString = "MATCH (g:TurnGroup {group_id: $group}) SET g.lease_until = $until"
LOCK_GROUP: LiteralString = f"{_LOCK} RETURN g.fence AS fence, g.lease_owner AS owner"
LOCK_FOR_REVERSAL: LiteralString = f"""
{_LOCK}
WITH g
OPTIONAL MATCH (c:TurnCommit {{turn_id: $turn_id}})
RETURN g.fence AS fence, g.lease_owner AS owner, c IS NOT NULL AS is_committed
"""

SAVE_SAGA: LiteralString = """
MERGE (s:Saga {uuid: $saga.uuid})
ON CREATE SET s = $saga
SET s.first_episode_uuid = coalesce($first, s.first_episode_uuid),
    s.last_episode_uuid = coalesce($last, s.last_episode_uuid),
    s.summary = CASE $saga.summary WHEN '' THEN s.summary ELSE $saga.summary END
"""
CREATE_RECORD: LiteralString = """
CREATE (c:TurnCommit)
SET c = $commit
"""
_SAVE_EPISODES: LiteralString = """
WITH s
UNWIND $episodes AS row
MERGE (e:Episodic {uuid: row.episode.uuid})
SET e = row.episode
CREATE (s)-[:HAS_EPISODE {uuid: row.link, group_id: $group, created_at: $now}]->(e)
"""
CREATE_TURN: LiteralString = f"{SAVE_SAGA}{CREATE_RECORD}{_SAVE_EPISODES}"
# One round trip. What another writer or an earlier commit of the turn excludes is not written, and
# the number is written back only if the turn is.
LOCK_AND_CREATE_TURN: LiteralString = f"""
{_LOCK}
WITH g
SET g.sequence = g.sequence + 1
WITH g
OPTIONAL MATCH (earlier:TurnCommit {{turn_id: $commit.turn_id}})
CALL (g, earlier) {{
    WITH g, earlier
    WHERE earlier IS NULL AND g.fence = $fence AND g.lease_owner = $owner
    {SAVE_SAGA}{CREATE_RECORD}SET c.sequence = g.sequence
    {_SAVE_EPISODES}
}}
RETURN g.fence AS fence, g.lease_owner AS owner, earlier IS NOT NULL AS is_committed
"""
DROP_LABELS: LiteralString = """
UNWIND $rows AS row
MATCH (n:Entity {uuid: row.uuid})
REMOVE n:$(row.labels)
"""
SAVE_ENTITIES: LiteralString = f"""
UNWIND $rows AS row
MERGE (n:Entity {{uuid: row.uuid}})
SET n:$(row.labels)
SET n = {row_with_times("created_at")}
WITH n, row
CALL db.create.setNodeVectorProperty(n, 'name_embedding', row.name_embedding)
RETURN count(*) AS done
"""
_SET_FACT: LiteralString = f"""
SET e = {row_with_times(*FACT_TIMES)}
WITH e, row
CALL db.create.setRelationshipVectorProperty(e, 'fact_embedding', row.fact_embedding)
RETURN count(*) AS done
"""
CREATE_FACTS: LiteralString = f"""
UNWIND $rows AS row
MATCH (source:Entity {{uuid: row.source_node_uuid}})
MATCH (target:Entity {{uuid: row.target_node_uuid}})
CREATE (source)-[e:RELATES_TO]->(target)
{_SET_FACT}
"""
UPDATE_FACTS: LiteralString = f"""
UNWIND $rows AS row
MATCH ()-[e:RELATES_TO {{uuid: row.uuid}}]->()
{_SET_FACT}
"""
LINK_MENTIONS: LiteralString = """
UNWIND $rows AS row
MATCH (episode:Episodic {uuid: row.source})
MATCH (entity:Entity {uuid: row.target})
CREATE (episode)-[:MENTIONS {uuid: row.uuid, group_id: $group, created_at: $now}]->(entity)
RETURN count(*) AS done
"""
SET_SUMMARIES: LiteralString = """
UNWIND $rows AS row
MATCH (n:Entity {uuid: row.uuid})
SET n.summary = row.summary
RETURN count(*) AS done
"""
SET_SAGA_SUMMARIES: LiteralString = """
UNWIND $rows AS row
MATCH (s:Saga {uuid: row.uuid})
SET s.summary = row.summary
RETURN count(*) AS done
"""
SET_RECORDS: LiteralString = """
UNWIND $rows AS row
MATCH (c:TurnCommit {turn_id: row.turn_id})
SET c.summaries = row.summaries
RETURN count(*) AS done
"""
SET_USAGES: LiteralString = """
UNWIND $rows AS row
MATCH (c:TurnCommit {turn_id: row.turn_id})
SET c += row.usage
"""
# Also the numbers of all later commits: they stay unique and in their order.
RENUMBER: LiteralString = """
MATCH (g:TurnGroup {group_id: $group}), (t:TurnCommit {turn_id: $turn_id})
WITH g, t.sequence AS first, g.sequence + 1 - t.sequence AS shift
MATCH (c:TurnCommit {group_id: $group}) WHERE c.sequence >= first
SET c.sequence = c.sequence + shift
WITH g, max(c.sequence) AS last
SET g.sequence = last
"""
UNLINK_NEXT: LiteralString = """
UNWIND $rows AS row
MATCH (:Episodic {uuid: row.source})-[old:NEXT_EPISODE]->(:Episodic {uuid: row.target})
DELETE old
"""
LINK_NEXT: LiteralString = """
UNWIND $rows AS row
MATCH (before:Episodic {uuid: row.source})
MATCH (after:Episodic {uuid: row.target})
CREATE (before)-[:NEXT_EPISODE {uuid: row.uuid, group_id: $group, created_at: $now}]->(after)
"""

SAVE_RUN: LiteralString = "MERGE (r:TurnRun {run_id: $run.run_id}) SET r = $run"
RUNS: LiteralString = "MATCH (r:TurnRun) RETURN r {.*} AS run"
