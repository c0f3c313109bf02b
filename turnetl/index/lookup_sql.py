"""The statements of `turnetl.index.lookup`. The tables are in `catalog_state`."""

WITH_PREFIX = {
    "turn": """
SELECT turn_id, group_id FROM turns WHERE turn_id >= ? AND turn_id < ? ORDER BY turn_id LIMIT ?""",
    # One seek per group: the index on sessions starts with the group.
    "session": """
SELECT session_id, min(group_id) FROM turns
WHERE group_id IN (SELECT group_id FROM groups) AND session_id >= ? AND session_id < ?
GROUP BY session_id ORDER BY session_id LIMIT ?""",
    "entity": """
SELECT uuid, group_id FROM entities WHERE uuid >= ? AND uuid < ? ORDER BY uuid LIMIT ?""",
    "fact": """
SELECT f.uuid, s.group_id FROM facts f JOIN entities s ON s.key = f.source
WHERE f.uuid >= ? AND f.uuid < ? ORDER BY f.uuid LIMIT ?""",
}

SESSION = """
SELECT key FROM turns
WHERE group_id IN (SELECT group_id FROM groups) AND session_id = ? ORDER BY started_at, turn_id"""

BY_TIME = """
SELECT key FROM turns WHERE key IN (SELECT value FROM json_each(?)) ORDER BY started_at, turn_id"""

TURN_KEYS = "SELECT turn_id, key FROM turns WHERE turn_id IN (SELECT value FROM json_each(?))"

TOUCHED = "SELECT key, touched FROM turns WHERE key IN (SELECT value FROM json_each(?))"

WITHOUT_FACT = """
SELECT content FROM entities e WHERE e.uuid IN (SELECT value FROM json_each(?))
    AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.source = e.key)
    AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.target = e.key)
ORDER BY e.uuid"""

NAMED = "SELECT content FROM entities WHERE folded = ? ORDER BY group_id, uuid"

FILES = """
SELECT e.content FROM entities e JOIN entity_labels l ON l.entity = e.key
WHERE l.folded = 'file' AND substr('/' || e.folded, -length('/' || ?1)) = '/' || ?1
ORDER BY e.name, e.group_id"""

CONTAINING = """
SELECT DISTINCT e.name FROM entities e WHERE instr(e.folded, :text) AND (
    :label IS NULL
    OR e.key IN (SELECT l.entity FROM entity_labels l WHERE l.folded = :label))
ORDER BY length(e.name), e.name LIMIT :limit"""

_FACTS = """
SELECT f.content, s.content, e.content, ft.turn
FROM facts f
JOIN entities s ON s.key = f.source
JOIN entities e ON e.key = f.target
JOIN fact_turns ft ON ft.fact = f.key
JOIN turns t ON t.key = ft.turn
WHERE {} ORDER BY t.started_at, t.turn_id"""
FACT = _FACTS.format("f.uuid = ?")
FACTS_ABOUT = _FACTS.format(
    "f.key IN (SELECT key FROM facts WHERE source = (SELECT key FROM entities WHERE uuid = ?1)"
    " UNION SELECT key FROM facts WHERE target = (SELECT key FROM entities WHERE uuid = ?1))"
)
