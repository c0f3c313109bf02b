"""The statements of `turnetl.index.overview`. The tables are in `catalog_sql`.

Parameters: `keys`, a JSON list of the keys of turns; `relations`, one of folded names.
`+ft.turn` makes SQLite begin with the few facts that are asked for, not with those of all turns.
"""

# Labels have no index by entity, so that they are read once, each beside its entity's count.
MOST_STATED = """
WITH stated AS MATERIALIZED (
    SELECT ft.turn, f.source, f.target FROM fact_turns ft JOIN facts f ON f.key = ft.fact
    WHERE ft.turn IN (SELECT value FROM json_each(:keys))),
ends AS (SELECT turn, source AS entity FROM stated UNION SELECT turn, target FROM stated),
counted AS MATERIALIZED (SELECT entity, count(*) AS turns FROM ends GROUP BY entity),
labelled AS (
    SELECT l.folded, l.label, c.entity, c.turns
    FROM entity_labels l CROSS JOIN counted c ON c.entity = l.entity
    UNION ALL
    SELECT NULL, '', entity, turns FROM counted
    WHERE entity NOT IN (SELECT entity FROM entity_labels)),
ranked AS (
    SELECT l.label, l.entity, l.turns,
        row_number() OVER (
            PARTITION BY l.folded ORDER BY l.turns DESC, e.name, e.uuid) AS place,
        count(*) OVER (PARTITION BY l.folded) AS entities
    FROM labelled l JOIN entities e ON e.key = l.entity)
SELECT r.label, r.entities, e.content, r.turns
FROM ranked r JOIN entities e ON e.key = r.entity WHERE r.place <= :limit
ORDER BY r.entities DESC, r.label, r.place"""

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
