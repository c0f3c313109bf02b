"""What a `PersistentIndex` offers besides a search: its content by id, by name and by time."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.fakes.followed_graphs import LoadedGraph
from tests.index.checkout_graph import EDITED, FILE, SESSION, TEXTS, contents, graph
from tests.index.indexed_shop import EMBEDDER, NOW, turn
from turnetl.base.model import GroupId
from turnetl.index.conditions import Selection
from turnetl.index.lookup import ItemKind
from turnetl.index.persistent import PersistentIndex


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[PersistentIndex]:
    index = PersistentIndex(tmp_path / "index", EMBEDDER.name, EMBEDDER.dimensions)
    yield index
    index.close()


@pytest.fixture
async def index(opened: PersistentIndex) -> PersistentIndex:
    await opened.catch_up(graph(*TEXTS), EMBEDDER, now=NOW)
    return opened


@pytest.mark.parametrize(
    ("identifier", "kind"),
    [
        (turn("tax"), ItemKind.TURN),
        ("s1", ItemKind.SESSION),
        (FILE.uuid, ItemKind.ENTITY),
        (EDITED.uuid, ItemKind.FACT),
    ],
)
async def test_everything_with_an_id_is_found_by_it(
    index: PersistentIndex, identifier: str, kind: ItemKind
) -> None:
    found = index.lookup().with_prefix(identifier, 5)
    assert (kind, identifier) in [(item.kind, item.id) for item in found]


async def test_the_beginning_of_an_id_in_any_case_is_enough(index: PersistentIndex) -> None:
    (found,) = index.lookup().with_prefix(turn("tax")[:8].upper(), 5)
    assert found.id == turn("tax")


async def test_a_prefix_of_all_ids_is_limited_for_each_kind(index: PersistentIndex) -> None:
    found = index.lookup().with_prefix("", 2)
    assert [item.kind for item in found].count(ItemKind.TURN) == 2


@pytest.mark.parametrize("prefix", ["%", "_", "'", "66185fa7' OR 1=1 --", "\udcff"])
async def test_no_prefix_is_a_pattern(index: PersistentIndex, prefix: str) -> None:
    assert index.lookup().with_prefix(prefix.encode("utf-8", "replace").decode(), 5) == []


async def test_the_turns_of_a_session_are_in_their_order(index: PersistentIndex) -> None:
    lookup = index.lookup()
    turns = index.turns(lookup.session("s1"))
    assert [turns[key].receipt.turn_id for key in lookup.session("s1")] == list(map(turn, TEXTS))
    assert lookup.session("s") == []


async def test_the_ids_of_turns_are_found_by_their_keys(index: PersistentIndex) -> None:
    lookup = index.lookup()
    keys = [key for key in (lookup.turn_key(turn("tax")), 99) if key is not None]
    assert lookup.turn_ids(keys) == {turn("tax")}


async def test_turns_are_put_in_the_order_of_time(index: PersistentIndex) -> None:
    ordered = index.lookup().session("s1")
    assert index.lookup().by_time([*ordered[::-1], 99]) == ordered
    assert index.newest(Selection(), limit=2) == ordered[:0:-1]


async def test_a_page_of_the_newest_turns_is_that_of_all_of_them(opened: PersistentIndex) -> None:
    loaded = contents(*TEXTS)
    same_time = tuple(
        replace(receipt, started_at=loaded.receipts[number // 2].started_at)
        for number, receipt in enumerate(loaded.receipts)
    )
    await opened.catch_up(LoadedGraph(replace(loaded, receipts=same_time)), EMBEDDER, now=NOW)
    for chosen in (
        Selection(),
        Selection(groups=(loaded.group_id,)),
        Selection(since=same_time[0].started_at),
        Selection(file=FILE.name),
    ):
        newest = [*opened.newest(chosen, limit=9)]
        turns = opened.turns(opened.select(chosen).tolist())
        assert newest == sorted(
            turns, key=lambda key: (turns[key].started_at, turns[key].turn_id), reverse=True
        )
        for skip in range(len(newest) + 1):
            page = opened.newest(chosen, limit=2, skip=skip)
            assert page == newest[skip : skip + 2]


async def test_an_entity_is_found_by_its_name_in_any_case(index: PersistentIndex) -> None:
    assert index.lookup().entities_named("CHECKOUT") == [SESSION]
    assert index.lookup().entities_named("check") == []


async def test_names_of_any_alphabet_are_found_in_any_case(opened: PersistentIndex) -> None:
    street = replace(FILE, name="src/Straße/caf\u00e9.py")
    checkout = replace(SESSION, name="Корзина")
    named = replace(contents(*TEXTS), entities=(street, checkout))
    await opened.catch_up(LoadedGraph(named), EMBEDDER, now=NOW)
    lookup = opened.lookup()
    assert lookup.entities_named("КОРЗИНА") == [checkout]
    assert lookup.names_containing("РЗИ", "CONCEPT", 5) == ["Корзина"]
    for path in ("SRC/STRASSE/CAFE\u0301.py", "strasse/café.PY", "CAFÉ.py"):
        assert lookup.files_ending_with(path) == [street]


@pytest.mark.parametrize("path", ["src/tax_rates.py", "tax_rates.py", "/TAX_rates.py"])
async def test_a_file_is_found_by_the_end_of_its_path(index: PersistentIndex, path: str) -> None:
    assert index.lookup().files_ending_with(path) == [FILE]


@pytest.mark.parametrize("path", ["rates.py", "checkout", "%"])
async def test_a_part_of_a_name_is_no_end_of_a_path(index: PersistentIndex, path: str) -> None:
    assert index.lookup().files_ending_with(path) == []


async def test_names_that_contain_a_text_are_suggested(index: PersistentIndex) -> None:
    assert index.lookup().names_containing("RATES", None, 5) == [FILE.name]
    assert index.lookup().names_containing("RATES", "Concept", 5) == []


async def test_a_fact_has_its_turns_and_is_found_by_both_entities(index: PersistentIndex) -> None:
    lookup = index.lookup()
    stated = lookup.fact(EDITED.uuid)
    assert stated is not None
    assert stated.indexed.fact == EDITED
    assert stated.turns == (lookup.turn_key(turn("tax")),)
    assert lookup.facts_about(FILE.uuid) == lookup.facts_about(SESSION.uuid) == [stated]


async def test_the_keys_of_several_turns_are_those_of_each_one(index: PersistentIndex) -> None:
    lookup = index.lookup()
    asked = [turn("docs"), "x", turn("tax"), turn("docs")]
    assert lookup.turn_keys(asked) == {id_: lookup.turn_key(id_) for id_ in asked if id_ != "x"}
    assert lookup.turn_keys([]) == {}


async def test_what_is_not_in_the_index_is_not_found(index: PersistentIndex) -> None:
    lookup = index.lookup()
    assert (lookup.turn_key("x"), lookup.entity("x"), lookup.fact("x")) == (None, None, None)
    assert lookup.facts_about("x") == []


async def test_groups_and_sessions_are_listed_with_their_times_the_newest_first(
    index: PersistentIndex,
) -> None:
    lookup, status = index.lookup(), index.status()
    spans = lookup.group_spans()
    assert {span.group_id: span.turns for span in spans} == {
        group.group_id: group.turns for group in status.groups
    }
    page = lookup.session_spans(limit=100)
    assert page.count == len(page.sessions) == sum(span.sessions for span in spans)
    assert sum(one.turns for one in page.sessions) == status.turns
    assert [one.last for one in page.sessions] == sorted(
        (one.last for one in page.sessions), reverse=True
    )
    assert min(one.first for one in page.sessions) == min(span.first for span in spans)


async def test_pages_of_sessions_have_each_session_once(index: PersistentIndex) -> None:
    lookup = index.lookup()
    everything = lookup.session_spans(limit=100)
    single = [lookup.session_spans(limit=1, offset=at) for at in range(everything.count)]
    assert [page.sessions[0] for page in single] == list(everything.sessions)
    assert {page.count for page in single} == {everything.count}
    assert lookup.session_spans(limit=1, offset=100).sessions == []


async def test_sessions_are_selected_by_group_and_by_time(index: PersistentIndex) -> None:
    lookup = index.lookup()
    newest = lookup.session_spans(limit=1).sessions[0]
    moment = timedelta(microseconds=1)
    later = lookup.session_spans(since=newest.last + moment, limit=100)
    assert later.sessions == []
    until = lookup.session_spans(until=newest.first, limit=100)
    assert newest not in until.sessions
    assert (
        newest
        in lookup.session_spans([newest.group_id], until=newest.first + moment, limit=9).sessions
    )
    assert lookup.session_spans([GroupId("another")], limit=100).count == 0


async def test_a_turn_is_found_by_each_of_its_lines(index: PersistentIndex) -> None:
    (key,) = index.newest(Selection(), limit=1)
    receipt = index.turns([key])[key].receipt
    name = receipt.archive.rpartition("/")[2]
    for archive in (receipt.archive, name):
        for line in (receipt.first_line, receipt.last_line):
            assert key in index.turns_at(archive, line)
    assert index.turns_at(receipt.archive, 10**6) == []
    assert index.turns_at(name[1:], receipt.first_line) == []


async def test_lines_that_were_read_ahead_are_those_of_all_turns_that_are_added_later(
    opened: PersistentIndex,
) -> None:
    first, *others = TEXTS
    await opened.catch_up(graph(first), EMBEDDER, now=NOW)
    assert opened.read_ahead(1)
    assert not opened.read_ahead(1)
    await opened.catch_up(graph(first, *others), EMBEDDER, now=NOW)
    assert opened.read_ahead(1)
    for key, indexed in opened.turns(opened.select(Selection()).tolist()).items():
        assert key in opened.turns_at(indexed.receipt.archive, indexed.receipt.first_line)
