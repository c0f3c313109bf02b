"""Ladybug's tables and statements. The tables are Graphiti's Kuzu schema, plus turnetl's own.

A fact is a node between two entities, as in Graphiti. A statement writes one row: a lookup by a
parameter uses the primary key; a lookup by the rows of an UNWIND scans the table.

Integers are passed as strings: Ladybug caches one plan per width of an integer.

Every column of a commit costs time. A TurnCommit therefore holds its receipt as JSON, and of the
columns of `schema.RECEIPTS` only those of `QUERIED`; its statements are built from them.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from turnetl.base import schema
from turnetl.base.schema import Column
from turnetl.graph.from_rows import FACT_TIMES
from turnetl.graph.to_rows import BEFORE_IMAGES, SEQUENCE, SUMMARIES

_TYPES: Mapping[object, str] = {
    pl.String: "STRING",
    pl.Int64: "INT64",
    pl.Float64: "DOUBLE",
    schema.TEXTS: "STRING[]",
    schema.TIME: "TIMESTAMP",
}
QUERIED = (
    "turn_id",
    "group_id",
    "session_id",
    "run_id",
    "archive",
    "first_line",
    "last_line",
)
"""Columns of a receipt that a query may name, here or of a person: what, by whom, from where."""
RECEIPT = "receipt"
TURN_COMMIT = (
    *(column for column in schema.RECEIPTS.columns if column.name in QUERIED),
    Column(SEQUENCE, pl.Int64, "number of the commit in its group"),
    Column(RECEIPT, pl.String, "the receipt, with the columns of the usage in `usage`, as JSON"),
    Column(BEFORE_IMAGES, pl.String, "what is needed to undo the turn, as JSON"),
    Column(SUMMARIES, pl.String, "what the turn records about summaries, as JSON"),
)
"""The columns of a TurnCommit."""


def _node_table(label: str, columns: Sequence[Column]) -> str:
    key, *others = (f"{column.name} {_TYPES[column.dtype]}" for column in columns)
    definitions = ", ".join((f"{key} PRIMARY KEY", *others))
    return f"CREATE NODE TABLE IF NOT EXISTS {label} ({definitions})"


def _columns(item: str, names: Sequence[str]) -> str:
    return ", ".join(f"{item}.{name} AS {name}" for name in names)


def _values(item: str, names: Sequence[str]) -> str:
    return ", ".join(f"{item}.{name} = ${name}" for name in names)


def _parameter(column: Column) -> str:
    is_integer = column.dtype == pl.Int64
    return f"CAST(${column.name} AS INT64)" if is_integer else f"${column.name}"


_LATER_SAGA_COLUMNS = (
    *("summary STRING", "first_episode_uuid STRING", "last_episode_uuid STRING"),
    *("last_summarized_at TIMESTAMP", "last_summarized_episode_valid_at TIMESTAMP"),
)
"""Columns of Graphiti's `SagaNode` that the tables of its own driver lack."""
SCHEMA = (
    """CREATE NODE TABLE IF NOT EXISTS Episodic (
    uuid STRING PRIMARY KEY, name STRING, group_id STRING, created_at TIMESTAMP, source STRING,
    source_description STRING, content STRING, valid_at TIMESTAMP, entity_edges STRING[])""",
    # turnetl's own: Graphiti names the columns that it reads.
    "ALTER TABLE Episodic ADD IF NOT EXISTS turnetl_granularity STRING",
    """CREATE NODE TABLE IF NOT EXISTS Entity (
    uuid STRING PRIMARY KEY, name STRING, group_id STRING, labels STRING[], created_at TIMESTAMP,
    name_embedding FLOAT[], summary STRING, attributes STRING)""",
    """CREATE NODE TABLE IF NOT EXISTS Community (
    uuid STRING PRIMARY KEY, name STRING, group_id STRING, created_at TIMESTAMP,
    name_embedding FLOAT[], summary STRING)""",
    """CREATE NODE TABLE IF NOT EXISTS RelatesToNode_ (
    uuid STRING PRIMARY KEY, group_id STRING, created_at TIMESTAMP, name STRING, fact STRING,
    fact_embedding FLOAT[], episodes STRING[], expired_at TIMESTAMP, valid_at TIMESTAMP,
    invalid_at TIMESTAMP, reference_time TIMESTAMP, attributes STRING)""",
    """CREATE REL TABLE IF NOT EXISTS RELATES_TO (
    FROM Entity TO RelatesToNode_, FROM RelatesToNode_ TO Entity)""",
    """CREATE REL TABLE IF NOT EXISTS MENTIONS (
    FROM Episodic TO Entity, uuid STRING PRIMARY KEY, group_id STRING, created_at TIMESTAMP)""",
    """CREATE REL TABLE IF NOT EXISTS HAS_MEMBER (
    FROM Community TO Entity, FROM Community TO Community,
    uuid STRING, group_id STRING, created_at TIMESTAMP)""",
    f"""CREATE NODE TABLE IF NOT EXISTS Saga (
    uuid STRING PRIMARY KEY, name STRING, group_id STRING, created_at TIMESTAMP,
    {", ".join(_LATER_SAGA_COLUMNS)})""",
    *(f"ALTER TABLE Saga ADD IF NOT EXISTS {column}" for column in _LATER_SAGA_COLUMNS),
    """CREATE REL TABLE IF NOT EXISTS HAS_EPISODE (
    FROM Saga TO Episodic, uuid STRING, group_id STRING, created_at TIMESTAMP)""",
    """CREATE REL TABLE IF NOT EXISTS NEXT_EPISODE (
    FROM Episodic TO Episodic, uuid STRING, group_id STRING, created_at TIMESTAMP)""",
    """CREATE NODE TABLE IF NOT EXISTS TurnGroup (
    group_id STRING PRIMARY KEY, schema_version INT64, embedder STRING, dimensions INT64,
    recipe STRING, lease_owner STRING, lease_until TIMESTAMP, fence INT64,
    sequence INT64, creation_id STRING)""",
    _node_table("TurnRun", schema.RUNS.columns),
    """CREATE NODE TABLE IF NOT EXISTS TurnMigration (
    migration_id STRING PRIMARY KEY, group_id STRING, state STRING)""",
    "CREATE NODE TABLE IF NOT EXISTS TurnRecipe (recipe STRING PRIMARY KEY, parts STRING)",
    # The last one: a file that has it has all tables.
    _node_table("TurnCommit", TURN_COMMIT),
)

GROUPS = "MATCH (c:TurnCommit) RETURN DISTINCT c.group_id AS name ORDER BY name"
_COMMITS = "MATCH (c:TurnCommit) WHERE c.group_id = $group_id"
RECEIPTS = f"{_COMMITS} RETURN c.receipt"
ALL_RECEIPTS = "MATCH (c:TurnCommit) RETURN c.group_id, c.receipt"
TURN_GROUPS = "MATCH (g:TurnGroup) RETURN g.group_id, g.sequence, g.creation_id ORDER BY g.group_id"
TURN_COUNTS = "MATCH (c:TurnCommit) RETURN c.group_id, count(*)"
TURN_IDS = f"{_COMMITS} RETURN c.turn_id"
_LATER_COMMITS = f"{_COMMITS} AND c.sequence > CAST($after AS INT64)"
COMMITS_AFTER = f"{_LATER_COMMITS} RETURN c.turn_id ORDER BY c.sequence LIMIT $limit"
_COMMIT = "MATCH (c:TurnCommit {turn_id: $turn_id})"
_COMMIT_COLUMNS = "RETURN c.receipt, c.sequence, c.before_images, c.summaries"
COMMIT = f"{_COMMIT} WHERE c.group_id = $group_id {_COMMIT_COLUMNS}"
COMMITS = f"{_COMMITS} {_COMMIT_COLUMNS}"
LATEST_COMMIT = f"{_COMMITS} RETURN max(c.sequence)"
SOME_COMMITS = f"{_LATER_COMMITS} AND c.sequence <= CAST($last AS INT64) {_COMMIT_COLUMNS}"
COUNTS = tuple(
    f"MATCH (n:{table}) WHERE n.group_id = $group_id RETURN count(*)"
    for table in ("Episodic", "Entity", "RelatesToNode_")
)
_ENTITY = ("name", "labels", "summary", "created_at")
"""Properties that Graphiti sets, beside uuid, group, embedding and attributes."""
_ENTITY_COLUMNS = f"""
RETURN {_columns("n", ("uuid", "group_id", *_ENTITY, "attributes"))}, n.name_embedding AS embedding
"""
ENTITIES = f"MATCH (n:Entity) WHERE n.group_id = $group_id {_ENTITY_COLUMNS}"
# Reads the column of the uuids, and of the other columns only the rows that match.
SOME_ENTITIES = f"""
UNWIND $uuids AS uuid
MATCH (n:Entity {{uuid: uuid}}) WHERE n.group_id = $group_id {_ENTITY_COLUMNS}
"""
_FACT = ("name", "fact", "episodes", *FACT_TIMES)
"""Properties that Graphiti sets, beside uuid, group, embedding and attributes."""
_FACT_COLUMNS = f"""
RETURN source AS source_node_uuid, target AS target_node_uuid,
       {_columns("e", ("uuid", "group_id", *_FACT, "attributes"))}, e.fact_embedding AS embedding
"""
_FACTS_WITH_ENDS = """
MATCH (a:Entity)-[:RELATES_TO]->(e:RelatesToNode_)-[:RELATES_TO]->(b:Entity)
WHERE e.group_id = $group_id
"""
FACTS = f"{_FACTS_WITH_ENDS} WITH e, a.uuid AS source, b.uuid AS target {_FACT_COLUMNS}"
FACT_ENDS = f"{_FACTS_WITH_ENDS} RETURN e.uuid, a.uuid, b.uuid"
# Of other programs, without attributes; the embedding is added to the columns if it is needed.
OTHER_ENTITIES = f"""
MATCH (n:Entity) WHERE n.group_id = $group_id RETURN {_columns("n", ("uuid", *_ENTITY))}
"""
OTHER_FACTS = f"""
{_FACTS_WITH_ENDS}
RETURN a.uuid AS source_node_uuid, b.uuid AS target_node_uuid, {_columns("e", ("uuid", *_FACT))}
"""
FACT_COUNT = "MATCH (e:RelatesToNode_) RETURN count(*)"
# One hop at a time: in one pattern the second hop scans the entities.
FACT = f"""
MATCH (e:RelatesToNode_ {{uuid: $uuid}}) WHERE e.group_id = $group_id
WITH e
MATCH (a:Entity)-[:RELATES_TO]->(e)
WITH e, a.uuid AS source
MATCH (e)-[:RELATES_TO]->(b:Entity)
WITH e, source, b.uuid AS target {_FACT_COLUMNS}
"""
# Scans the relationships first, without the embeddings of all facts.
SOME_FACTS = f"""
UNWIND $uuids AS uuid
MATCH (a:Entity)-[:RELATES_TO]->(f:RelatesToNode_ {{uuid: uuid}})-[:RELATES_TO]->(b:Entity)
WITH a.uuid AS source, f.uuid AS key, b.uuid AS target
MATCH (e:RelatesToNode_) WHERE e.uuid = key AND e.group_id = $group_id {_FACT_COLUMNS}
"""
EPISODE_CONTENT = "MATCH (e:Episodic {uuid: $uuid}) RETURN e.content"
EPISODE_CONTENTS = "MATCH (e:Episodic) WHERE e.group_id = $group_id RETURN e.uuid, e.content"
_EPISODE = ("name", "content", "source", "source_description", "created_at", "valid_at")
EPISODES = f"""
MATCH (e:Episodic) WHERE e.group_id = $group_id
RETURN {_columns("e", ("uuid", "group_id", *_EPISODE))}
"""
EPISODE = f"MATCH (e:Episodic {{uuid: $uuid}}) RETURN {_columns('e', ('uuid', *_EPISODE))}"
MENTIONS = """
MATCH (e:Episodic)-[:MENTIONS]->(n:Entity) WHERE e.group_id = $group_id
RETURN e.uuid, n.uuid
"""
COMMUNITIES = f"""
MATCH (c:Community) WHERE c.group_id = $group_id
RETURN {_columns("c", ("uuid", "group_id", "name", "summary", "created_at"))}
"""
LEASE_STATE = """
MATCH (g:TurnGroup {group_id: $group_id})
RETURN g.fence, g.embedder, g.dimensions, g.recipe, g.lease_owner, g.lease_until
"""
HOLDER = "MATCH (g:TurnGroup {group_id: $group_id}) RETURN g.fence, g.lease_owner"
HAS_TURNS = f"{_COMMITS} RETURN 1 LIMIT 1"
RECORDS = f"{_COMMITS} RETURN c.turn_id, c.summaries ORDER BY c.sequence"
SET_RECORD = f"{_COMMIT} SET c.summaries = $summaries RETURN 1"
COMMITTED_RECEIPT = f"{_COMMIT} RETURN c.{RECEIPT}"
SET_RECEIPT = f"{_COMMIT} SET c.{RECEIPT} = $receipt"
# Also the numbers of all later commits: they stay unique and in their order.
RENUMBER = """
MATCH (t:TurnCommit {turn_id: $turn_id})
WITH t.sequence AS first
MATCH (g:TurnGroup {group_id: $group_id})
WITH first, g.sequence AS last
MATCH (c:TurnCommit) WHERE c.group_id = $group_id AND c.sequence >= first
SET c.sequence = c.sequence + (last + 1 - first)
RETURN max(c.sequence)
"""
SET_SEQUENCE = """
MATCH (g:TurnGroup {group_id: $group_id}) SET g.sequence = CAST($sequence AS INT64)
"""
SET_STATED_FACTS = "MATCH (e:Episodic {uuid: $turn_id}) SET e.entity_edges = $facts"
BEFORE_IMAGES_OF = f"{_COMMIT} RETURN c.before_images"
SET_BEFORE_IMAGES = f"{_COMMIT} SET c.before_images = $images"
DELETE_TURN_COMMIT = f"{_COMMIT} DELETE c"
SET_SUMMARY = "MATCH (n:Entity {uuid: $uuid}) SET n.summary = $summary RETURN n.uuid"
SET_SAGA_SUMMARY = "MATCH (s:Saga {uuid: $uuid}) SET s.summary = $summary RETURN s.uuid"
IS_COMMITTED = f"{_COMMIT} RETURN 1"

SAVE_RECIPE = "MERGE (r:TurnRecipe {recipe: $recipe}) SET r.parts = $parts"
RECIPE = "MATCH (r:TurnRecipe {recipe: $recipe}) RETURN r.parts"

SCHEMA_VERSION = "MATCH (g:TurnGroup) RETURN DISTINCT g.schema_version"
TABLES = "CALL show_tables() RETURN name"
GROUP_IDS = "MATCH (g:TurnGroup) RETURN g.group_id"
TURN_COMMIT_COLUMNS = "CALL table_info('TurnCommit') RETURN name"
TURN_GROUP_COLUMNS = "CALL table_info('TurnGroup') RETURN name"

GRANT = """
MERGE (g:TurnGroup {group_id: $group_id})
ON CREATE SET g.sequence = 0, g.creation_id = $creation_id
SET g.schema_version = CAST($schema_version AS INT64),
    g.embedder = $embedder, g.dimensions = CAST($dimensions AS INT64), g.recipe = $recipe,
    g.lease_owner = $lease_owner, g.lease_until = $lease_until, g.fence = CAST($fence AS INT64)
"""
_MATCH_LEASE = """
MATCH (g:TurnGroup {group_id: $group_id})
WHERE g.fence = CAST($fence AS INT64) AND g.lease_owner = $owner
"""
RENEW = f"{_MATCH_LEASE} SET g.lease_until = $until"
# Checking the holder in the statement would take twice as long.
NEXT_SEQUENCE = """
MATCH (g:TurnGroup {group_id: $group_id})
SET g.lease_until = $until, g.sequence = g.sequence + 1
RETURN g.fence, g.lease_owner, g.sequence
"""
RELEASE = f"{_MATCH_LEASE} SET g.lease_owner = NULL, g.lease_until = NULL"

SAVE_EPISODE = f"""
MERGE (e:Episodic {{uuid: $uuid}}) SET {_values("e", ("group_id", *_EPISODE, "entity_edges"))}
"""
SAVE_SAGA = f"""
MERGE (s:Saga {{uuid: $uuid}})
ON CREATE SET {_values("s", ("name", "group_id", "created_at", "summary"))}
"""
SET_FIRST_EPISODE = "MATCH (s:Saga {uuid: $source}) SET s.first_episode_uuid = $target"
SET_LAST_EPISODE = "MATCH (s:Saga {uuid: $source}) SET s.last_episode_uuid = $target"
SAVE_ENTITY = f"""
MERGE (n:Entity {{uuid: $uuid}})
SET {_values("n", ("group_id", *_ENTITY, "name_embedding", "attributes"))}
"""
_FACT_VALUES = ("group_id", *_FACT, "fact_embedding", "attributes")
CREATE_FACT = f"""
MATCH (a:Entity {{uuid: $source_node_uuid}}), (b:Entity {{uuid: $target_node_uuid}})
CREATE (a)-[:RELATES_TO]->(e:RelatesToNode_ {{
    {", ".join(f"{name}: ${name}" for name in ("uuid", *_FACT_VALUES))}}})-[:RELATES_TO]->(b)
RETURN e.uuid
"""
UPDATE_FACT = f"""
MATCH (e:RelatesToNode_ {{uuid: $uuid}}) SET {_values("e", _FACT_VALUES)} RETURN e.uuid
"""
LINK_MENTION = """
MATCH (e:Episodic {uuid: $source}), (n:Entity {uuid: $target})
CREATE (e)-[r:MENTIONS {uuid: $uuid, group_id: $group_id, created_at: $now}]->(n)
RETURN n.uuid
"""
LINK_SAGA = """
MATCH (s:Saga {uuid: $source}), (e:Episodic {uuid: $target})
CREATE (s)-[:HAS_EPISODE {uuid: $uuid, group_id: $group_id, created_at: $now}]->(e)
RETURN e.uuid
"""
UNLINK_NEXT = """
MATCH (:Episodic {uuid: $source})-[old:NEXT_EPISODE]->(:Episodic {uuid: $target})
DELETE old
"""
LINK_NEXT = """
MATCH (a:Episodic {uuid: $source}), (b:Episodic {uuid: $target})
CREATE (a)-[:NEXT_EPISODE {uuid: $uuid, group_id: $group_id, created_at: $now}]->(b)
"""
_COMMIT_PROPERTIES = ", ".join(f"{column.name}: {_parameter(column)}" for column in TURN_COMMIT)
CREATE_TURN_COMMIT = f"CREATE (:TurnCommit {{{_COMMIT_PROPERTIES}}})"

_RUN_KEY, *_RUN_VALUES = schema.RUNS.columns
SAVE_RUN = f"MERGE (r:TurnRun {{{_RUN_KEY.name}: ${_RUN_KEY.name}}}) SET " + ", ".join(
    f"r.{column.name} = {_parameter(column)}" for column in _RUN_VALUES
)
RUNS = f"MATCH (r:TurnRun) RETURN {_columns('r', [column.name for column in schema.RUNS.columns])}"
