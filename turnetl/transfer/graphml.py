"""GraphML: turns and entities as nodes, facts and mentions as edges."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from xml.sax.saxutils import escape, quoteattr

from turnetl.base.clock import encoded_time
from turnetl.base.model import Entity, Fact
from turnetl.transfer.content import ExportContent, ExportedTurn

MARK = b'<?xml version="1.0" encoding="UTF-8"?>\n<!-- turnetl export 1 -->\n'
_INVALID = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no document of XML 1.0 may hold, not even escaped."""
_NODE_KEYS = ("kind", "group", "name", "labels", "summary", "session", "started_at", "lineage")
_EDGE_KEYS = ("relation", "fact", "valid_at", "invalid_at", "turns")


def to_graphml(content: ExportContent) -> bytes:
    """Return the content as a directed graph. A turn is named by the first line of its prompt."""
    return MARK + "\n".join(_lines(content)).encode() + b"\n"


def _lines(content: ExportContent) -> Iterator[str]:
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
        "lineage": f"{turn.archive}:{turn.first_line}-{turn.last_line}",
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
