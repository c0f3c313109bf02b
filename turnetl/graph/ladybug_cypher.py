"""What turnetl says to Ladybug. Tables are Graphiti's (its Kuzu form), but for two of ours.

A fact is a node between two entities, as Graphiti has it. Statements take one row each: looked up
by a parameter, a key costs one step; looked up by the rows of an UNWIND, it costs a scan of the
whole table. Whole numbers are handed over as texts: Ladybug keeps one plan for every width of a
number, and a commit has ten of them.
"""

SCHEMA = (
    """CREATE NODE TABLE IF NOT EXISTS Episodic (
    uuid STRING PRIMARY KEY, name STRING, group_id STRING, created_at TIMESTAMP, source STRING,
    source_description STRING, content STRING, valid_at TIMESTAMP, entity_edges STRING[])""",
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
    """CREATE NODE TABLE IF NOT EXISTS Saga (
    uuid STRING PRIMARY KEY, name STRING, group_id STRING, created_at TIMESTAMP, summary STRING,
    first_episode_uuid STRING, last_episode_uuid STRING, last_summarized_at TIMESTAMP,
    last_summarized_episode_valid_at TIMESTAMP)""",
    """CREATE REL TABLE IF NOT EXISTS HAS_EPISODE (
    FROM Saga TO Episodic, uuid STRING, group_id STRING, created_at TIMESTAMP)""",
    """CREATE REL TABLE IF NOT EXISTS NEXT_EPISODE (
    FROM Episodic TO Episodic, uuid STRING, group_id STRING, created_at TIMESTAMP)""",
    """CREATE NODE TABLE IF NOT EXISTS TurnGroup (
    group_id STRING PRIMARY KEY, embedder STRING, dimensions INT64, recipe STRING,
    lease_owner STRING, lease_until TIMESTAMP, fence INT64)""",
    """CREATE NODE TABLE IF NOT EXISTS TurnCommit (
    turn_id STRING PRIMARY KEY, group_id STRING, session_id STRING, ordinal INT64, run_id STRING,
    content_hash STRING, text_hash STRING, parts INT64, recipe STRING, committed_at TIMESTAMP,
    started_at TIMESTAMP, ended_at TIMESTAMP, archive STRING, first_line INT64, last_line INT64,
    calls INT64, prompt_tokens INT64, cached_tokens INT64, completion_tokens INT64, seconds DOUBLE,
    cost DOUBLE, nodes_new INT64, edges_new INT64, edges_invalidated INT64, `before` STRING)""",
)

GROUPS = "MATCH (c:TurnCommit) RETURN DISTINCT c.group_id AS name ORDER BY name"
RECEIPT_COLUMNS = (
    *("turn_id", "group_id", "session_id", "ordinal", "run_id", "content_hash", "text_hash"),
    *("parts", "recipe", "committed_at", "started_at", "ended_at", "archive", "first_line"),
    *("last_line", "calls", "prompt_tokens", "cached_tokens", "completion_tokens", "seconds"),
    "cost",
    *("nodes_new", "edges_new", "edges_invalidated"),
)
RECEIPTS = f"""
MATCH (c:TurnCommit) WHERE c.group_id = $group_id
RETURN {", ".join(f"c.{name}" for name in RECEIPT_COLUMNS)}
"""
COUNTS = (
    "MATCH (e:Episodic) WHERE e.group_id = $group_id RETURN count(*)",
    "MATCH (n:Entity) WHERE n.group_id = $group_id RETURN count(*)",
    "MATCH (e:RelatesToNode_) WHERE e.group_id = $group_id RETURN count(*)",
)
ENTITIES = """
MATCH (n:Entity) WHERE n.group_id = $group_id
RETURN n.uuid AS uuid, n.name AS name, n.group_id AS group_id, n.labels AS labels,
       n.created_at AS created_at, n.summary AS summary, n.attributes AS attributes,
       n.name_embedding AS embedding
"""
FACTS = """
MATCH (a:Entity)-[:RELATES_TO]->(e:RelatesToNode_)-[:RELATES_TO]->(b:Entity)
WHERE e.group_id = $group_id
RETURN e.uuid AS uuid, a.uuid AS source_node_uuid, b.uuid AS target_node_uuid,
       e.group_id AS group_id, e.created_at AS created_at, e.name AS name, e.fact AS fact,
       e.episodes AS episodes, e.expired_at AS expired_at, e.valid_at AS valid_at,
       e.invalid_at AS invalid_at, e.reference_time AS reference_time,
       e.attributes AS attributes, e.fact_embedding AS embedding
"""
TEXTS = "MATCH (e:Episodic) WHERE e.group_id = $group_id RETURN e.uuid, e.content"
HOLDING = """
MATCH (g:TurnGroup {group_id: $group_id})
RETURN g.fence, g.embedder, g.dimensions, g.recipe, g.lease_owner, g.lease_until
"""
USED = "MATCH (c:TurnCommit) WHERE c.group_id = $group_id RETURN 1 LIMIT 1"
COMMITTED = "MATCH (c:TurnCommit {turn_id: $turn}) RETURN 1"

GRANT = """
MERGE (g:TurnGroup {group_id: $group_id})
SET g.embedder = $embedder, g.dimensions = CAST($dimensions AS INT64), g.recipe = $recipe,
    g.lease_owner = $owner, g.lease_until = $until, g.fence = CAST($fence AS INT64)
"""
_STILL_OURS = """
MATCH (g:TurnGroup {group_id: $group_id})
WHERE g.fence = CAST($fence AS INT64) AND g.lease_owner = $owner
"""
RENEW = f"{_STILL_OURS} SET g.lease_until = $until"
RELEASE = f"{_STILL_OURS} SET g.lease_owner = NULL, g.lease_until = NULL"

EPISODE = """
MERGE (e:Episodic {uuid: $uuid})
SET e.name = $name, e.group_id = $group_id, e.created_at = $created_at, e.source = $source,
    e.source_description = $source_description, e.content = $content, e.valid_at = $valid_at,
    e.entity_edges = $entity_edges
"""
SAGA = """
MERGE (s:Saga {uuid: $uuid})
ON CREATE SET s.name = $name, s.group_id = $group_id, s.created_at = $created_at,
              s.summary = $summary
"""
FIRST_OF_SAGA = "MATCH (s:Saga {uuid: $source}) SET s.first_episode_uuid = $target"
LAST_OF_SAGA = "MATCH (s:Saga {uuid: $source}) SET s.last_episode_uuid = $target"
SAVE_ENTITY = """
MERGE (n:Entity {uuid: $uuid})
SET n.name = $name, n.group_id = $group_id, n.labels = $labels, n.created_at = $created_at,
    n.name_embedding = $name_embedding, n.summary = $summary, n.attributes = $attributes
"""
NEW_FACT = """
MATCH (a:Entity {uuid: $source_node_uuid}), (b:Entity {uuid: $target_node_uuid})
CREATE (a)-[:RELATES_TO]->(e:RelatesToNode_ {
    uuid: $uuid, group_id: $group_id, created_at: $created_at, name: $name, fact: $fact,
    fact_embedding: $fact_embedding, episodes: $episodes, expired_at: $expired_at,
    valid_at: $valid_at, invalid_at: $invalid_at, reference_time: $reference_time,
    attributes: $attributes})-[:RELATES_TO]->(b)
RETURN e.uuid
"""
SET_FACT = """
MATCH (e:RelatesToNode_ {uuid: $uuid})
SET e.group_id = $group_id, e.created_at = $created_at, e.name = $name, e.fact = $fact,
    e.fact_embedding = $fact_embedding, e.episodes = $episodes, e.expired_at = $expired_at,
    e.valid_at = $valid_at, e.invalid_at = $invalid_at, e.reference_time = $reference_time,
    e.attributes = $attributes
RETURN e.uuid
"""
MENTION = """
MATCH (e:Episodic {uuid: $source}), (n:Entity {uuid: $target})
CREATE (e)-[r:MENTIONS {uuid: $uuid, group_id: $group_id, created_at: $now}]->(n)
RETURN n.uuid
"""
HAS_EPISODE = """
MATCH (s:Saga {uuid: $source}), (e:Episodic {uuid: $target})
CREATE (s)-[:HAS_EPISODE {uuid: $uuid, group_id: $group_id, created_at: $now}]->(e)
RETURN e.uuid
"""
UNLINK = """
MATCH (:Episodic {uuid: $source})-[old:NEXT_EPISODE]->(:Episodic {uuid: $target})
DELETE old
"""
LINK = """
MATCH (a:Episodic {uuid: $source}), (b:Episodic {uuid: $target})
CREATE (a)-[:NEXT_EPISODE {uuid: $uuid, group_id: $group_id, created_at: $now}]->(b)
"""
COMMIT = """
CREATE (:TurnCommit {
    turn_id: $turn_id, group_id: $group_id, session_id: $session_id,
    ordinal: CAST($ordinal AS INT64), run_id: $run_id, content_hash: $content_hash,
    text_hash: $text_hash, parts: CAST($parts AS INT64), recipe: $recipe,
    committed_at: $committed_at, started_at: $started_at, ended_at: $ended_at,
    archive: $archive, first_line: CAST($first_line AS INT64),
    last_line: CAST($last_line AS INT64), calls: CAST($calls AS INT64),
    prompt_tokens: CAST($prompt_tokens AS INT64), cached_tokens: CAST($cached_tokens AS INT64),
    completion_tokens: CAST($completion_tokens AS INT64), seconds: $seconds, cost: $cost,
    nodes_new: CAST($nodes_new AS INT64), edges_new: CAST($edges_new AS INT64),
    edges_invalidated: CAST($edges_invalidated AS INT64), `before`: $before})
"""
