"""One entity for one thing, whatever a turn calls it."""

from tests import builders
from tests.builders import tool
from tests.extraction.structural.shop_group import NOW, ShopGroup
from turnetl.base.model import MAX_ALIASES, with_aliases
from turnetl.extraction.structural.entity_resolution import TurnEntities
from turnetl.extraction.structural.findings import CONCEPT, FILE, SETTING, SYMBOL, EntityKey
from turnetl.graph.mirror.group import MirrorGroup


def _entities(group: MirrorGroup, *keys: EntityKey, root: str = "") -> TurnEntities:
    found = TurnEntities(group.group_id, group, guessed_root=root)
    for key in keys:
        found.uuid(key)
    return found


def _group_with(*keys: EntityKey) -> MirrorGroup:
    group = builders.empty_group()
    group.put(_entities(group, *keys).changed(NOW), ())
    return group


def test_a_concept_that_turns_out_to_be_a_file_becomes_it_and_the_other_way_round() -> None:
    for first, second in ((CONCEPT, FILE), (FILE, CONCEPT)):
        group = _group_with(EntityKey(first, "prices.toml"))
        group.put(_entities(group, EntityKey(second, "prices.toml")).changed(NOW), ())
        assert [(one.name, one.labels) for one in group.entities] == [("prices.toml", (FILE,))]


def test_a_setting_is_also_known_as_the_symbol_of_its_name() -> None:
    group = _group_with(EntityKey(SYMBOL, "retryDelay"))
    [entity] = _entities(group, EntityKey(SETTING, "retryDelay")).changed(NOW)
    assert entity.labels == (SETTING,)


def test_a_path_below_a_guessed_root_is_the_known_file_that_its_whole_path_ends_with() -> None:
    group = _group_with(EntityKey(FILE, "cli/resume.go"), EntityKey(FILE, "web/resume.go"))
    names = {
        root: [one.name for one in group.entities if one.uuid in found.names]
        for root in ("/home/dev/checkout/cli", "/home/dev/checkout", "")
        for found in [_entities(group, EntityKey(FILE, "resume.go"), root=root)]
    }
    # The file at the root of the project is another one.
    assert names == {
        "/home/dev/checkout/cli": ["cli/resume.go"], "/home/dev/checkout": [], "": []
    }  # fmt: skip


async def test_a_file_that_a_prompt_names_by_the_end_of_its_path_is_mentioned_if_it_is_the_only_one(
    shop: ShopGroup,
) -> None:
    edit = tool("Edit", "/home/dev/shop/cli/resume.go :: - a + b")
    await shop.ingest("a", tool_calls=(edit,))
    [known] = [one for one in shop.group.entities if one.name == "cli/resume.go"]
    asked = "why does resume.go skip the first order?"
    assert known.uuid in (await shop.resolve("b", user_text=asked, cwd="/home/dev/shop")).mentions
    other = tool("Edit", "/home/dev/shop/web/resume.go :: - a + b")
    await shop.ingest("c", tool_calls=(other,))
    again = await shop.resolve("d", user_text=asked, cwd="/home/dev/shop")
    assert known.uuid not in again.mentions


def test_aliases_are_sorted_and_bounded_and_do_not_repeat_the_name() -> None:
    group = _group_with(EntityKey(SYMBOL, "retryDelay"))
    found = _entities(group, EntityKey(SYMBOL, "retryDelay"))
    for name in ("retry_delay", "retry_Delay", "retryDelay"):
        found.uuid(EntityKey(SYMBOL, name))
    [entity] = found.changed(NOW)
    assert entity.aliases == ("retry_Delay", "retry_delay")
    many = with_aliases(entity, (f"delay{number:02}" for number in range(40)))
    assert len(many.aliases) == MAX_ALIASES
    assert with_aliases(many, many.aliases) is many


def test_a_qualified_symbol_is_the_one_that_its_module_or_folder_declares() -> None:
    bare = EntityKey(SYMBOL, "add", description="Function in `src/cart.py`")
    for keys in ((bare, EntityKey(SYMBOL, "Cart.add")), (EntityKey(SYMBOL, "cart.add"), bare)):
        assert len(_entities(builders.empty_group(), *keys).names) == 1
    group = _group_with(bare)
    group.put(_entities(group, EntityKey(SYMBOL, "src.add")).changed(NOW), ())
    assert [one.aliases for one in group.entities] == [("src.add",)]
    assert len(_entities(group, bare, EntityKey(SYMBOL, "list.add")).names) == 2
