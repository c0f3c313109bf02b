"""Names of shadow groups: no project has one, and each leads back to its group."""

from hypothesis import given
from hypothesis import strategies as st

from turnetl.base import ids
from turnetl.base.ids import final_group, is_shadow, sessions_group, turns_group
from turnetl.base.model import GroupId
from turnetl.pipeline.group_names import select_groups

GROUP = GroupId("shop")
MIGRATION = "0a1b2c3d"


def test_the_names_of_shadow_groups_are_stable() -> None:
    assert turns_group(GROUP) == "shop__turns"
    assert sessions_group(GROUP, MIGRATION) == "shop__sessions_0a1b2c3d"


@given(st.text(min_size=1))
def test_no_project_has_the_name_of_a_shadow_group(name: str) -> None:
    assert not is_shadow(ids.group_id(name))


@given(st.text(min_size=1), st.integers(0, 2**32 - 1))
def test_a_shadow_group_leads_back_to_its_group(name: str, number: int) -> None:
    group = GroupId(name)
    for shadow in (turns_group(group), sessions_group(group, f"{number:08x}")):
        if "\n" not in name:
            assert is_shadow(shadow)
            assert final_group(shadow) == group


def test_a_saga_of_a_shadow_group_has_the_id_of_the_group() -> None:
    assert ids.saga_id(turns_group(GROUP), "s") == ids.saga_id(GROUP, "s")  # type: ignore[arg-type]


def test_shadow_groups_are_selected_only_by_name() -> None:
    existing = [GROUP, sessions_group(GROUP, MIGRATION), turns_group(GROUP)]
    assert select_groups(existing, ()) == [GROUP]
    assert select_groups(existing, ("shop__turns",)) == [turns_group(GROUP)]
    assert select_groups(existing, (), shadows=True) == existing
