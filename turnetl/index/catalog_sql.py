"""The catalog's tables and statements. A column `folded` holds `folding.fold` of a name."""

VERSION = 11
APPLICATION_ID = 0x7475726F
"""SQLite's `application_id` of an index."""

TABLES = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE groups (
    group_id TEXT PRIMARY KEY, creation_id TEXT NOT NULL, sequence INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE turns (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    turn_id TEXT NOT NULL UNIQUE,
    group_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    format TEXT,
    git_branch TEXT,
    receipt BLOB NOT NULL,
    text BLOB NOT NULL,
    touched BLOB NOT NULL
);
CREATE INDEX turns_by_session ON turns (group_id, session_id, started_at);
CREATE INDEX turns_by_time ON turns (started_at);
CREATE TABLE removed_turns (
    key INTEGER PRIMARY KEY, has_words INTEGER NOT NULL
);
CREATE INDEX removed_turns_with_words ON removed_turns (key) WHERE has_words;
CREATE TABLE turn_tools (
    folded TEXT NOT NULL, turn INTEGER NOT NULL, tool TEXT NOT NULL, PRIMARY KEY (folded, turn)
) WITHOUT ROWID;
CREATE TABLE entities (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid TEXT NOT NULL UNIQUE,
    group_id TEXT NOT NULL,
    name TEXT NOT NULL,
    folded TEXT NOT NULL,
    content BLOB NOT NULL
);
CREATE INDEX entities_by_name ON entities (folded);
CREATE TABLE entity_labels (
    folded TEXT NOT NULL, entity INTEGER NOT NULL, label TEXT NOT NULL, PRIMARY KEY (folded, entity)
) WITHOUT ROWID;
CREATE TABLE facts (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid TEXT NOT NULL UNIQUE,
    source INTEGER NOT NULL,
    target INTEGER NOT NULL,
    relation TEXT NOT NULL,
    folded TEXT NOT NULL,
    valid_at INTEGER,
    invalid_at INTEGER,
    content BLOB NOT NULL
);
CREATE INDEX facts_by_source ON facts (source);
CREATE INDEX facts_by_target ON facts (target);
CREATE INDEX facts_by_relation ON facts (folded);
CREATE TABLE fact_turns (
    turn INTEGER NOT NULL, fact INTEGER NOT NULL, PRIMARY KEY (turn, fact)
) WITHOUT ROWID;
CREATE INDEX fact_turns_by_fact ON fact_turns (fact);
CREATE TABLE questions (
    turn_id TEXT PRIMARY KEY, digest TEXT NOT NULL, content TEXT NOT NULL
) WITHOUT ROWID;
"""

GROUPS = """
SELECT
    g.group_id, (SELECT count(*) FROM turns t WHERE t.group_id = g.group_id), g.sequence,
    g.creation_id
FROM groups g ORDER BY g.group_id"""

ADD_TURN = """
INSERT INTO turns
    (key, turn_id, group_id, session_id, started_at, format, git_branch, receipt, text, touched)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""

LAST_KEY = "SELECT seq FROM sqlite_sequence WHERE name = 'turns'"

ADD_ENTITY = """
INSERT INTO entities (uuid, group_id, name, folded, content) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (uuid) DO UPDATE SET
    name = excluded.name, folded = excluded.folded, content = excluded.content"""

ADD_FACT = """
INSERT INTO facts (uuid, source, target, relation, folded, valid_at, invalid_at, content)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (uuid) DO UPDATE SET
    source = excluded.source, target = excluded.target, relation = excluded.relation,
    folded = excluded.folded, valid_at = excluded.valid_at, invalid_at = excluded.invalid_at,
    content = excluded.content"""

TURNS = """
SELECT t.key, t.turn_id, t.started_at, t.receipt, t.text, (
    SELECT p.key FROM turns p
    WHERE p.group_id = t.group_id AND p.session_id = t.session_id AND p.started_at < t.started_at
    ORDER BY p.started_at DESC, p.turn_id DESC LIMIT 1)
FROM turns t WHERE t.key IN (SELECT value FROM json_each(?))"""

TEXTS = """
SELECT key, text FROM turns WHERE key IN (SELECT value FROM json_each(?))"""

NEXT_TURNS = """
SELECT (
    SELECT n.key FROM turns n
    WHERE n.group_id = t.group_id AND n.session_id = t.session_id AND n.started_at > t.started_at
    ORDER BY n.started_at, n.turn_id LIMIT 1)
FROM turns t WHERE t.key IN (SELECT value FROM json_each(?))"""

FACTS = """
SELECT ft.turn, f.content, s.content, e.content
FROM fact_turns ft
JOIN facts f ON f.key = ft.fact
JOIN entities s ON s.key = f.source
JOIN entities e ON e.key = f.target
WHERE ft.turn IN (SELECT value FROM json_each(?))"""

FACT_COUNT = """
SELECT count(*) FROM facts f JOIN entities s ON s.key = f.source WHERE s.group_id = ?"""

FACTS_WITHOUT_TURN = """
DELETE FROM facts WHERE NOT EXISTS (SELECT 1 FROM fact_turns ft WHERE ft.fact = facts.key)
    AND uuid IN (SELECT value FROM json_each(?))"""

ENTITIES_WITHOUT_FACT = """
DELETE FROM entities WHERE uuid IN (SELECT value FROM json_each(?))
    AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.source = entities.key)
    AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.target = entities.key)"""

WITHOUT_QUESTIONS = """
SELECT key FROM turns t WHERE NOT EXISTS (SELECT 1 FROM questions q WHERE q.turn_id = t.turn_id)
ORDER BY key"""

QUESTIONED_TURNS = """
SELECT count(*) FROM turns t JOIN questions q ON q.turn_id = t.turn_id"""

QUESTIONS_WITHOUT_TURN = """
DELETE FROM questions AS q WHERE NOT EXISTS (SELECT 1 FROM turns t WHERE t.turn_id = q.turn_id)"""

REMOVE_QUESTIONS = """
DELETE FROM questions WHERE turn_id IN (
    SELECT turn_id FROM turns WHERE key IN (SELECT value FROM json_each(?)))"""
