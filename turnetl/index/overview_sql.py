"""The statements of `turnetl.index.overview`. The tables are in `catalog_sql`.

Parameters: `keys`, a JSON list of the keys of turns; `relations`, one of folded names.
`+ft.turn` makes SQLite begin with the few facts that are asked for, not with those of all turns.
"""

MOST_STATED = """
WITH ends AS (
    SELECT ft.turn, f.source AS entity FROM fact_turns ft JOIN facts f ON f.key = ft.fact
    WHERE ft.turn IN (SELECT value FROM json_each(:keys))
    UNION
    SELECT ft.turn, f.target FROM fact_turns ft JOIN facts f ON f.key = ft.fact
    WHERE ft.turn IN (SELECT value FROM json_each(:keys))),
counted AS (SELECT entity, count(*) AS turns FROM ends GROUP BY entity),
ranked AS (
    SELECT coalesce(l.label, '') AS label, e.content, c.turns,
        row_number() OVER (
            PARTITION BY l.folded ORDER BY c.turns DESC, e.name, e.uuid) AS place,
        count(*) OVER (PARTITION BY l.folded) AS entities
    FROM counted c JOIN entities e ON e.key = c.entity
    LEFT JOIN entity_labels l ON l.entity = e.key)
SELECT label, entities, content, turns FROM ranked WHERE place <= :limit
ORDER BY entities DESC, label, place"""

TARGETS = """
SELECT e.content, count(DISTINCT ft.turn) AS turns, count(*) OVER ()
FROM facts f JOIN fact_turns ft ON ft.fact = f.key JOIN turns t ON t.key = ft.turn
JOIN entities e ON e.key = f.target
WHERE f.folded IN (SELECT value FROM json_each(:relations))
    AND +ft.turn IN (SELECT value FROM json_each(:keys))
GROUP BY e.key ORDER BY turns DESC, max(t.started_at) DESC, e.uuid LIMIT :limit"""

_NEWEST = """
SELECT f.content, count(*) OVER ()
FROM facts f JOIN fact_turns ft ON ft.fact = f.key JOIN turns t ON t.key = ft.turn
WHERE +ft.turn IN (SELECT value FROM json_each(:keys)) AND {}
GROUP BY f.key ORDER BY max(t.started_at) DESC, f.uuid LIMIT :limit"""
NEWEST = _NEWEST.format("f.folded IN (SELECT value FROM json_each(:relations))")
NEWEST_VALID = _NEWEST.format(
    "f.folded IN (SELECT value FROM json_each(:relations)) AND f.invalid_at IS NULL"
)
NEWEST_ABOUT = _NEWEST.format(
    "f.key IN (SELECT key FROM facts WHERE source = (SELECT key FROM entities WHERE uuid = :uuid)"
    " UNION SELECT key FROM facts WHERE target = (SELECT key FROM entities WHERE uuid = :uuid))"
)

STARTED = """
SELECT group_id, started_at FROM turns WHERE key IN (SELECT value FROM json_each(:keys))"""

COUNTS = """
SELECT count(DISTINCT ft.fact),
    count(DISTINCT CASE WHEN f.invalid_at IS NOT NULL THEN ft.fact END)
FROM fact_turns ft JOIN facts f ON f.key = ft.fact
WHERE ft.turn IN (SELECT value FROM json_each(:keys))"""
