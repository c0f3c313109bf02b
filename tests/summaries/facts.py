"""Facts for the tests of summaries."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from turnetl.base.model import Fact, GroupId, TurnId, Vector
from turnetl.llm.vectors import pack

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


def minutes(count: float) -> datetime:
    """Return a time after START."""
    return START + timedelta(minutes=count)


def vector(*numbers: float) -> Vector:
    """Return the vector in that direction, of unit length."""
    length = sum(number * number for number in numbers) ** 0.5
    return pack([number / length for number in numbers])


def fact(
    uuid: str = "f0", text: str = "the parser reads lines", embedding: Any = None, **fields: Any
) -> Fact:
    """Return a fact about the entities `parser` and `lines`, active unless `fields` end it."""
    defaults = {
        "group_id": GroupId("zoo"),
        "source": "parser",
        "target": "lines",
        "relation": "READS",
        "turns": (TurnId("t0"),),
        "created_at": START,
        "valid_at": START,
    }
    values = {**defaults, **fields}
    return Fact(uuid=uuid, text=text, embedding=embedding or vector(1, 0, 0), **values)


@st.composite
def facts(draw: st.DrawFn) -> Fact:
    """Draw a fact: few uuids and texts, so that statements repeat and states follow one another."""
    text = draw(st.sampled_from(["reads lines", "writes rows", "is slow"]))
    # The embedding depends on the text, as that of an embedder.
    embedding = vector(len(text), text.count("s") + 1, text.count("r") + 1)
    ended = draw(st.booleans())
    return fact(
        draw(st.sampled_from(["f1", "f2", "f3", "f4"])),
        text,
        embedding,
        invalid_at=START if ended else None,
    )
