"""Keys are the same on every machine and in every version."""

from uuid import UUID, uuid5

from hypothesis import given
from hypothesis import strategies as st

from turnetl.base import ids
from turnetl.base.model import GroupId

NAMESPACE = UUID("5d0a1c7e-6f0f-5f8e-9c1b-7b1f3a0c2d4e")


@given(st.text())
def test_a_turns_id_is_a_uuid5_of_group_format_and_native_id(native: str) -> None:
    name = ids.digest("turn", "shop", "claude_code", native)
    assert ids.turn_id(GroupId("shop"), "claude_code", native) == str(uuid5(NAMESPACE, name))


def test_keys_never_change() -> None:
    turn_id = ids.turn_id(GroupId("shop"), "claude_code", "p0")
    assert turn_id == "8f7224c2-1963-573b-bd8b-bcaf39805779"


def test_the_boundaries_between_parts_count() -> None:
    assert ids.digest("ab", "c") != ids.digest("a", "bc")
    assert ids.digest("ab") == ids.digest(b"ab")
