"""From what a user types to one turn, session, entity or fact."""

from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests import builders
from tests.builders import GROUP, START
from tests.fakes.followed_graphs import LoadedGraph
from tests.index.indexed_shop import EMBEDDER, NOW
from turnetl.base import ids
from turnetl.base.errors import BadUsage
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Entity, Fact, GroupId
from turnetl.index.lookup import ItemKind
from turnetl.index.persistent import PersistentIndex
from turnetl.retrieval.details import TurnDetails, details
from turnetl.retrieval.items import FILE_LABEL, AmbiguousItem, file_path, find_entity, find_item

HERE = Path("/home/dev/elsewhere")
OTHER = GroupId("library")
CART = Entity("aaaa0001", GROUP, "src/cart.py", ("File",), "", START)
TEST = Entity("aaaa0002", GROUP, "tests/cart.py", ("File",), "", START)
README = Entity("bbbb0001", GROUP, "README.md", ("File",), "", START)
CONCEPT = Entity("bbbb0002", GROUP, "checkout", ("Concept",), "", START)
COMMAND = Entity("cccc0001", GROUP, "./src/cart.py", ("Command",), "", START)
ERROR = Entity("bbbb0003", GROUP, "Checkout", ("Error",), "", START)


def fact(number: int, source: Entity, target: Entity) -> Fact:
    return Fact(
        uuid=f"cccc000{number}",
        group_id=source.group_id,
        source=source.uuid,
        target=target.uuid,
        relation="MODIFIED",
        text=f"fact {number}",
        turns=(builders.turn().turn_id,),
        created_at=START,
        valid_at=START,
    )


def contents(group: GroupId, entities: tuple[Entity, ...], first: int) -> GroupContents:
    turn = replace(builders.receipt(builders.episode(group_id=group)))
    pairs = zip(entities, (*entities[1:], entities[0]), strict=True)
    facts = [fact(first + number, *pair) for number, pair in enumerate(pairs)]
    stated = tuple(replace(one, turns=(turn.turn_id,)) for one in facts)
    text = "user: Why?\n\nassistant: So.\n\ntools: Bash pytest -> failed: no"
    return GroupContents(group, None, entities, stated, (turn,), {turn.turn_id: text})


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[PersistentIndex]:
    opened = PersistentIndex(tmp_path / "index", EMBEDDER.name, EMBEDDER.dimensions)
    elsewhere = replace(README, uuid="dddd0001", group_id=OTHER)
    graph = LoadedGraph(
        contents(GROUP, (CART, TEST, README, CONCEPT, ERROR), 0),
        contents(OTHER, (elsewhere, replace(CONCEPT, uuid="dddd0002", group_id=OTHER)), 5),
    )
    await opened.catch_up(graph, EMBEDDER, now=NOW)
    yield opened
    opened.close()


@pytest.mark.parametrize(
    "path", ["src/cart.py", "/src/cart.py", "/home/dev/shop/src/cart.py", "C:\\shop\\src\\cart.py"]
)
async def test_a_file_is_found_wherever_its_checkout_is(index: PersistentIndex, path: str) -> None:
    assert find_entity(index.lookup(), path, FILE_LABEL)[0] == CART


@pytest.mark.parametrize(
    "path",
    [
        "src/cart.py",
        "bookshop/src/cart.py",
        "/home/dev/src/cart.py",
        "./src/cart.py",
        "..\\src\\cart.py",
    ],
)
async def test_an_item_is_found_by_a_path_that_leads_to_one_file(
    index: PersistentIndex, path: str
) -> None:
    found, _ = find_item(index, path, HERE)
    assert (found.kind, found.id) == (ItemKind.ENTITY, CART.uuid)
    with pytest.raises(BadUsage, match=r"is several: File aaaa0001 .*Type the id of one of them"):
        find_item(index, "cart.py", HERE)


async def test_a_name_that_starts_with_a_dot_is_a_name_before_it_is_a_path(tmp_path: Path) -> None:
    graph = LoadedGraph(contents(GROUP, (CART, COMMAND), 0))
    with closing(PersistentIndex(tmp_path / "named", EMBEDDER.name, EMBEDDER.dimensions)) as named:
        await named.catch_up(graph, EMBEDDER, now=NOW)
        assert find_item(named, COMMAND.name, HERE)[0].id == COMMAND.uuid


async def test_a_name_and_a_label_are_found_in_any_case(index: PersistentIndex) -> None:
    assert find_entity(index.lookup(), "SRC/Cart.py", "file")[0] == CART
    assert find_entity(index.lookup(), "CHECKOUT", "ERROR")[0] == ERROR


async def test_a_symbol_is_found_by_another_spelling(tmp_path: Path) -> None:
    uuid = ids.entity_id(GROUP, "Symbol", ids.folded_name("Symbol", "addItem"))
    symbol = Entity(uuid, GROUP, "addItem", ("Symbol",), "", START)
    with closing(PersistentIndex(tmp_path / "named", EMBEDDER.name, EMBEDDER.dimensions)) as named:
        await named.catch_up(LoadedGraph(contents(GROUP, (CART, symbol), 0)), EMBEDDER, now=NOW)
        for spelling in ("cart.add_item(book)", "AddItem()", "Cart::addItem"):
            assert find_item(named, spelling, HERE)[0].id == uuid
            assert find_entity(named.lookup(), spelling)[0] == symbol


async def test_of_files_that_differ_in_case_the_one_typed_is_meant(tmp_path: Path) -> None:
    upper = replace(CART, uuid="aaaa0009", name="src/CART.py")
    with closing(PersistentIndex(tmp_path / "case", EMBEDDER.name, EMBEDDER.dimensions)) as both:
        graph = LoadedGraph(contents(GROUP, (CART, upper), 0))
        await both.catch_up(graph, EMBEDDER, now=NOW)
        assert find_entity(both.lookup(), "src/CART.py", FILE_LABEL)[0] == upper
        assert find_entity(both.lookup(), "src/cart.py", FILE_LABEL)[0] == CART


async def test_several_files_with_the_same_end_are_listed(index: PersistentIndex) -> None:
    with pytest.raises(BadUsage, match=r"File aaaa0001 .*; File aaaa0002 .*Type the id of one"):
        find_entity(index.lookup(), "cart.py", FILE_LABEL)


async def test_a_bare_name_in_a_path_leads_to_no_other_file(index: PersistentIndex) -> None:
    with pytest.raises(BadUsage, match="there is no file"):
        find_entity(index.lookup(), "/home/dev/other/README.md", FILE_LABEL, [GROUP])


async def test_a_group_or_a_label_decides_between_entities_with_one_name(
    index: PersistentIndex,
) -> None:
    lookup = index.lookup()
    assert find_entity(lookup, "README.md", FILE_LABEL, [GROUP])[0] == README
    assert find_entity(lookup, "checkout", "Error")[0] == ERROR
    with pytest.raises(BadUsage, match="group library"):
        find_entity(lookup, "checkout")


async def test_of_one_name_in_several_projects_that_of_the_working_folder_is_meant(
    index: PersistentIndex,
) -> None:
    for folder, chosen in (
        ("shop", README.uuid),
        ("shop/.worktrees/x", README.uuid),
        ("library", "dddd0001"),
    ):
        here = Path("/home/dev") / folder
        entity, others = find_entity(index.lookup(), "README.md", FILE_LABEL, directory=here)
        item, others_of_item = find_item(index, "README.md", here)
        assert entity.uuid == item.id == chosen
        assert others == others_of_item
        assert {chosen, *(one.id for one in others)} == {README.uuid, "dddd0001"}
        assert [one.turns for one in others] == [1]
    with pytest.raises(AmbiguousItem, match="is several, in 2 projects: File") as error:
        find_entity(index.lookup(), "README.md", FILE_LABEL, directory=HERE)
    assert [*error.value.lines] == [
        "`README.md` is several, in 2 projects:",
        "  File dddd0001 (README.md, group library, 1 turn)",
        "  File bbbb0001 (README.md, group shop, 1 turn)",
        "Type the id of one of them",
    ]


async def test_several_of_one_name_in_the_project_are_listed_before_those_of_others(
    index: PersistentIndex,
) -> None:
    with pytest.raises(AmbiguousItem) as error:
        find_entity(index.lookup(), "checkout", directory=Path("/home/dev/shop"))
    groups = [one.item.group_id for one in error.value.matching]
    assert groups == [GROUP, GROUP, OTHER]


async def test_the_beginning_of_an_id_leads_to_an_entity(index: PersistentIndex) -> None:
    assert find_entity(index.lookup(), "bbbb0003")[0] == ERROR


@pytest.mark.parametrize("name", ["check", "%", "\udc80", "fact 0"])
async def test_another_text_leads_to_no_entity(index: PersistentIndex, name: str) -> None:
    with pytest.raises(BadUsage, match="there is no entity"):
        find_entity(index.lookup(), name)


async def test_an_empty_text_leads_to_no_entity(index: PersistentIndex) -> None:
    with pytest.raises(BadUsage, match="no id and no name is given"):
        find_entity(index.lookup(), " ")


async def test_an_unknown_entity_is_named_with_similar_ones(index: PersistentIndex) -> None:
    with pytest.raises(BadUsage, match=r"(?i)similar: `checkout`"):
        find_entity(index.lookup(), "check")


async def test_a_turn_of_the_graph_has_prompt_answer_and_failed_step(
    index: PersistentIndex,
) -> None:
    found = details(index, builders.turn().turn_id, HERE, limit=5)
    assert isinstance(found, TurnDetails)
    conversation = found.conversation
    assert (conversation.prompt, conversation.answer) == ("Why?", "So.")
    (step,) = conversation.steps
    assert (step.tool, step.input, step.outcome) == ("Bash", "pytest", "failed: no")
    assert step.is_error


@pytest.mark.parametrize(
    ("typed", "path"),
    [
        ("cart.py", "cart.py"),
        (".env", ".env"),
        ("./cart.py", "/home/dev/cart.py"),
        ("../cart.py", "/home/cart.py"),
        ("/src/cart.py", "/src/cart.py"),
    ],
)
def test_a_path_that_starts_with_a_dot_is_relative_to_the_directory(typed: str, path: str) -> None:
    assert file_path(typed, Path("/home/dev")) == path
