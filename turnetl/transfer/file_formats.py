"""The formats of an export that are one file: JSON Lines, GraphML and Cypher."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import msgspec

from turnetl.base.clock import encoded_time
from turnetl.base.control_characters import unicode_escape
from turnetl.base.model import Entity, Fact, Turn
from turnetl.transfer.content import ExportContent, ExportedTurn

JSONL_MARK = b'{"kind":"export","turnetl_export":1,'


def to_jsonl(content: ExportContent) -> bytes:
    """Return a line about the export, then an object per turn, entity and fact; times in UTC."""
    return b"".join(_json_lines(content))


def _json_lines(content: ExportContent) -> Iterator[bytes]:
    counts = f'"turns":{len(content.turns)},"entities":{len(content.entities)},'
    yield JSONL_MARK + f'{counts}"facts":{len(content.facts)}}}\n'.encode()
    encode = msgspec.json.Encoder().encode
    for exported in content.turns:
        yield encode(turn_row(exported)) + b"\n"
    for entity in content.entities:
        yield encode(_without_embedding("entity", entity)) + b"\n"
    for fact in content.facts:
        yield encode(_without_embedding("fact", fact)) + b"\n"


def turn_row(exported: ExportedTurn) -> dict[str, Any]:
    """Return a turn with the names of `schema.TURNS`, `noise` and `copies`."""
    return {
        "kind": "turn",
        **asdict(exported.turn),
        "noise": exported.noise,
        "copies": exported.copies,
    }


def _without_embedding(kind: str, item: Entity | Fact) -> dict[str, Any]:
    values = {"kind": kind, **asdict(item)}
    del values["embedding"]
    return values


GRAPHML_MARK = b'<?xml version="1.0" encoding="UTF-8"?>\n<!-- turnetl export 1 -->\n'
_INVALID = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no document of XML 1.0 may hold, not even escaped."""
_NODE_KEYS = ("kind", "group", "name", "labels", "summary", "session", "started_at", "lineage")
_EDGE_KEYS = ("relation", "fact", "valid_at", "invalid_at", "turns")


def to_graphml(content: ExportContent) -> bytes:
    """Return the content as a directed graph. A turn is named by the first line of its prompt."""
    return GRAPHML_MARK + "\n".join(_graphml_lines(content)).encode() + b"\n"


def _graphml_lines(content: ExportContent) -> Iterator[str]:
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    for name in _NODE_KEYS:
        yield f'<key id="{name}" for="node" attr.name="{name}" attr.type="string"/>'
    for name in _EDGE_KEYS:
        yield f'<key id="{name}" for="edge" attr.name="{name}" attr.type="string"/>'
    yield '<graph edgedefault="directed">'
    for exported in content.turns:
        yield _element("node", {"id": exported.turn.turn_id}, _turn_values(exported))
    for entity in content.entities:
        yield _element("node", {"id": entity.uuid}, _entity_values(entity))
    for fact in content.facts:
        ends = {"id": fact.uuid, "source": fact.source, "target": fact.target}
        yield _element("edge", ends, _fact_values(fact))
    for turn, uuid in content.mentions():
        yield _element("edge", {"source": turn, "target": uuid}, {"relation": "MENTIONS"})
    yield "</graph>"
    yield "</graphml>"


def _turn_values(exported: ExportedTurn) -> dict[str, str | None]:
    turn = exported.turn
    return {
        "kind": "turn",
        "group": turn.group_id,
        "name": turn.user_text,
        "session": turn.session_id,
        "started_at": _time(turn.started_at),
        "lineage": _lineage(turn),
    }


def _entity_values(entity: Entity) -> dict[str, str | None]:
    return {
        "kind": "entity",
        "group": entity.group_id,
        "name": entity.name,
        "labels": ", ".join(entity.labels),
        "summary": entity.summary,
    }


def _fact_values(fact: Fact) -> dict[str, str | None]:
    return {
        "relation": fact.relation,
        "fact": fact.text,
        "valid_at": _time(fact.valid_at),
        "invalid_at": _time(fact.invalid_at),
        "turns": " ".join(fact.turns),
    }


def _element(name: str, attributes: Mapping[str, str], values: Mapping[str, str | None]) -> str:
    shown = " ".join(f"{key}={quoteattr(xml_text(text))}" for key, text in attributes.items())
    data = "".join(
        f'<data key="{key}">{escape(xml_text(text))}</data>'
        for key, text in values.items()
        if text is not None
    )
    return f"<{name} {shown}>{data}</{name}>"


def xml_text(text: str) -> str:
    """Return a text as XML can hold it: other characters become U+FFFD, line ends a newline."""
    # A parser reads a carriage return as a newline.
    return _INVALID.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


def _time(time: datetime | None) -> str | None:
    return None if time is None else encoded_time(time)


CYPHER_MARK = b"// turnetl export 1\n"
_LABEL = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_ESCAPED = re.compile(r"[^\x20-\x7e]|[\\']")
_Value = str | int | datetime | tuple[str, ...] | None


def to_cypher(content: ExportContent) -> bytes:
    """Return statements that create the content in a graph database, with the names of Graphiti.

    Each is one line and uses MERGE: to run them again changes nothing. Run them with
    `cypher-shell --file`, for example.
    """
    return CYPHER_MARK + "".join(f"{statement};\n" for statement in _statements(content)).encode()


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
        "source_description": _lineage(turn),
        "content": "\n\n".join(part for part in (turn.user_text, turn.assistant_text) if part),
        "valid_at": turn.started_at,
    }


def _entity_properties(entity: Entity) -> dict[str, _Value]:
    names = ("group_id", "name", "labels", "summary", "created_at")
    return {name: getattr(entity, name) for name in names}


def _fact_properties(fact: Fact) -> dict[str, _Value]:
    times = ("created_at", "valid_at", "invalid_at", "expired_at")
    named = {"name": fact.relation, "fact": fact.text, "episodes": fact.turns}
    return {"group_id": fact.group_id, **named} | {time: getattr(fact, time) for time in times}


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


def _lineage(turn: Turn) -> str:
    return f"{turn.archive}:{turn.first_line}-{turn.last_line}"
