"""Contents of exports, with ordinary and with hostile texts."""

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from tests.builders import GROUP, START, tool, turn
from turnetl.base.model import Entity, Fact, SessionId
from turnetl.transfer.content import ExportContent, ExportedTurn, ordered


def storable(text: str) -> str:
    """Replace lone surrogates, which no table can hold."""
    return text.encode("utf-8", "replace").decode()


HOSTILE = (
    "<script>alert(1)</script>",
    "![x](http://evil.example/x.png)",
    "[x](javascript:alert)",
    "```\n# heading\n~~~",
    "'}) DETACH DELETE n //",
    "\\u0027}) DETACH DELETE n //",
    "`}]) DELETE n //",
    "DELETE",
    "]]></data><node id='x'/>",
    "&xxe; &#0; <!DOCTYPE x>",
    storable("\x00\x1b[31m\u202e\ud800￾"),
    "1. list\n- list\n> quote\n| a | b |",
    "www.evil.example me@evil.example https://evil.example",
    "---\n===\n***",
    "\r\n\r\u2028\u0085",
    "",
)
TEXTS = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=40).map(storable))


def entity(name: str = "cart.py", uuid: str = "e1", **fields: Any) -> Entity:
    default: dict[str, Any] = {"labels": ("File",), "summary": "The cart.", "created_at": START}
    return Entity(uuid=uuid, group_id=GROUP, name=name, **default | fields)


def fact(text: str = "The user changed cart.py.", uuid: str = "f1", **fields: Any) -> Fact:
    default: dict[str, Any] = {
        "source": "e1",
        "target": "e2",
        "relation": "MODIFIED",
        "turns": (turn().turn_id,),
        "created_at": START,
        "valid_at": START,
    }
    return Fact(uuid=uuid, group_id=GROUP, text=text, **default | fields)


def content(text: str = "Add a cart") -> ExportContent:
    """Return two sessions with two entities and a fact; the text is wherever one can be."""
    steps = (tool("Bash", text, text), tool("Edit", "cart.py", is_error=True))
    first = turn("p0", user_text=text, assistant_text=text, tool_calls=steps, steering=(text,))
    later = START + timedelta(minutes=9)
    second = turn("p1", ordinal=1, started_at=later, user_text=text, user_answers=(text,))
    other = turn("p2", session_id=SessionId(text or "s"), started_at=None, cwd=text, archive=text)
    turns = [ExportedTurn(one, None, 0) for one in (first, second, other)]
    entities = [
        entity(text, labels=(text or "File",), summary=text, attributes={"path": text}),
        entity("Ann", "e2", labels=("Person",)),
    ]
    stated = fact(text, relation=text, turns=(first.turn_id, other.turn_id), invalid_at=later)
    return ordered(ExportContent(turns, entities, [stated]))
