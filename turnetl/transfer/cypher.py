"""Cypher statements that create the content in a graph database, with the names of Graphiti.

Each statement is one line and uses MERGE: to run them again changes nothing.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime

from turnetl.base.clock import encoded_time
from turnetl.base.control_characters import unicode_escape
from turnetl.base.model import Entity, Fact
from turnetl.transfer.content import ExportContent, ExportedTurn

MARK = b"// turnetl export 1\n"
_LABEL = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_ESCAPED = re.compile(r"[^\x20-\x7e]|[\\']")
_Value = str | int | datetime | tuple[str, ...] | None


def to_cypher(content: ExportContent) -> bytes:
    """Return the statements. Run them with `cypher-shell --file`, for example."""
    return MARK + "".join(f"{statement};\n" for statement in _statements(content)).encode()


def _statements(content: ExportContent) -> Iterator[str]:
    for label in ("Episodic", "Entity"):
        name = f"turnetl_export_{label.lower()}"
        yield f"CREATE INDEX {name} IF NOT EXISTS FOR (n:{label}) ON (n.uuid)"
    for exported in content.turns:
        yield _node("Episodic", exported.turn.turn_id, _turn_properties(exported))
    for entity in content.entities:
        yield _node("Entity", entity.uuid, _entity_properties(entity), _labels(entity))
    for fact in content.facts:
        yield _edge(fact)
    for turn, uuid in content.mentions():
        yield (
            f"MATCH (a:Episodic {{uuid: {literal(turn)}}}), (b:Entity {{uuid: {literal(uuid)}}}) "
            "MERGE (a)-[:MENTIONS]->(b)"
        )


def _node(label: str, uuid: str, properties: Mapping[str, _Value], labels: str = "") -> str:
    return f"MERGE (n:{label} {{uuid: {literal(uuid)}}}) SET n += {_map(properties)}{labels}"


def _edge(fact: Fact) -> str:
    source, target, uuid = map(literal, (fact.source, fact.target, fact.uuid))
    return (
        f"MATCH (a:Entity {{uuid: {source}}}), (b:Entity {{uuid: {target}}}) "
        f"MERGE (a)-[r:RELATES_TO {{uuid: {uuid}}}]->(b) SET r += {_map(_fact_properties(fact))}"
    )


def _labels(entity: Entity) -> str:
    """Return the part of a statement that sets the labels; others are in the property only."""
    safe = [label for label in entity.labels if _LABEL.fullmatch(label)]
    return f", n:{':'.join(safe)}" if safe else ""


def _turn_properties(exported: ExportedTurn) -> dict[str, _Value]:
    turn = exported.turn
    return {
        "group_id": turn.group_id,
        "name": turn.session_id,
        "session_id": turn.session_id,
        "ordinal": turn.ordinal,
        "source": "message",
        "source_description": f"{turn.archive}:{turn.first_line}-{turn.last_line}",
        "content": "\n\n".join(part for part in (turn.user_text, turn.assistant_text) if part),
        "valid_at": turn.started_at,
    }


def _entity_properties(entity: Entity) -> dict[str, _Value]:
    return {
        "group_id": entity.group_id,
        "name": entity.name,
        "labels": entity.labels,
        "summary": entity.summary,
        "created_at": entity.created_at,
    }


def _fact_properties(fact: Fact) -> dict[str, _Value]:
    return {
        "group_id": fact.group_id,
        "name": fact.relation,
        "fact": fact.text,
        "episodes": tuple(map(str, fact.turns)),
        "created_at": fact.created_at,
        "valid_at": fact.valid_at,
        "invalid_at": fact.invalid_at,
        "expired_at": fact.expired_at,
    }


def _map(properties: Mapping[str, _Value]) -> str:
    pairs = (f"{name}: {literal(value)}" for name, value in properties.items() if value is not None)
    return f"{{{', '.join(pairs)}}}"


def literal(value: _Value) -> str:
    r"""Return a value as an expression of Cypher that holds no text of an archive unescaped.

    A text is in single quotes. These, backslashes and all but printable ASCII are escapes:
    a `\u0027` in a text is an escaped backslash and letters, and no quote.
    """
    if isinstance(value, tuple):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, datetime):
        return f"datetime({literal(encoded_time(value))})"
    if isinstance(value, int):
        return str(value)
    return f"'{_ESCAPED.sub(_escape, value or '')}'"


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    return f"\\{character}" if character in "\\'" else unicode_escape(character)
