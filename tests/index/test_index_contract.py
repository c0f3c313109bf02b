"""What a search needs of an index: it holds what the graph holds, and nothing else."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.builders import GROUP, START
from tests.fakes.followed_graphs import LoadedGraph
from tests.index.checkout_graph import (
    EDITED,
    FILE,
    SESSION,
    TEXTS,
    contents,
    follow,
    graph,
    with_term,
)
from tests.index.indexed_shop import EMBEDDER, NOW, receipt, turn
from turnetl.base.terms import Tokenizer
from turnetl.index.conditions import Selection
from turnetl.index.index_report import CatchUpReport
from turnetl.index.persistent import PersistentIndex
from turnetl.index.port import Condition, Field
from turnetl.llm.vectors import unpack


@pytest.fixture
def index(tmp_path: Path) -> Iterator[PersistentIndex]:
    opened = PersistentIndex(tmp_path / "index", EMBEDDER.name, EMBEDDER.dimensions)
    yield opened
    opened.close()


async def test_a_turn_is_found_by_a_term_of_its_text(index: PersistentIndex) -> None:
    assert await follow(index, *TEXTS) == CatchUpReport(added=3)
    assert with_term(index, "norway") == {turn("tax")}


async def test_a_session_contains_the_terms_of_all_its_turns(index: PersistentIndex) -> None:
    await follow(index, *TEXTS)
    keys = index.select(Selection())[:2]
    whole = index.session_term_shares({"norway": 1.0, "empty": 1.0}, keys)
    assert whole == dict.fromkeys(keys.tolist(), 1.0)
    part = index.session_term_shares({"norway": 1.0, "zeppelin": 1.0}, keys)
    assert all(0 < share < 0.5 for share in part.values())
    assert set(index.session_term_shares({"zeppelin": 1.0}, keys).values()) == {0.0}


async def test_a_second_catch_up_reads_nothing(index: PersistentIndex) -> None:
    await follow(index, *TEXTS)
    assert await follow(index, *TEXTS) == CatchUpReport()


async def test_a_catch_up_adds_what_was_committed_since(index: PersistentIndex) -> None:
    await follow(index, "cart")
    assert await follow(index, "cart", "tax") == CatchUpReport(added=1)
    assert with_term(index, "norway") == {turn("tax")}


async def test_a_turn_that_left_the_graph_leaves_the_index(index: PersistentIndex) -> None:
    await follow(index, *TEXTS)
    without = LoadedGraph(contents("cart", "docs"), sequences={turn("cart"): 1, turn("docs"): 3})
    assert await index.catch_up(without, EMBEDDER, now=NOW) == CatchUpReport(removed=1)
    assert with_term(index, "norway") == set()
    assert len(index.select(Selection())) == 2


async def test_a_group_that_left_the_graph_leaves_the_index(index: PersistentIndex) -> None:
    await follow(index, *TEXTS)
    report = await index.catch_up(LoadedGraph(), EMBEDDER, now=NOW)
    assert report == CatchUpReport(removed=3)
    assert index.status().groups == ()


async def test_a_forgotten_turn_is_not_found_by_any_stage(index: PersistentIndex) -> None:
    await follow(index, *TEXTS)
    (key,) = index.term_shares(Field.TEXT, {"norway": 1.0}, None, limit=10)
    assert index.forget([turn("tax"), turn("unknown")]) == 1
    assert with_term(index, "norway") == set()
    (vector,) = await EMBEDDER.embed(["tax for Norway"])
    assert key not in index.similarities(unpack(vector), None, limit=10)
    assert index.turns([key]) == {}


async def test_a_turn_has_its_facts_with_their_entities(index: PersistentIndex) -> None:
    await follow(index, *TEXTS)
    (key,) = index.term_shares(Field.FACTS, {"edit": 1.0}, None, limit=10)
    (found,) = index.facts([key])[key]
    assert found.fact == EDITED
    assert (found.source, found.target) == (FILE, SESSION)


async def test_a_turn_is_stored_with_its_receipt_and_text(index: PersistentIndex) -> None:
    await follow(index, *TEXTS)
    keys = index.select(Selection())
    held = [index.turns(keys.tolist())[key] for key in keys.tolist()]
    assert [one.text for one in held] == list(TEXTS.values())
    assert list(index.texts([*keys.tolist(), 99]).values()) == list(TEXTS.values())
    assert held[0].receipt == receipt("cart", 0)
    assert [one.previous for one in held] == [None, keys[0], keys[1]]


async def test_a_selection_has_the_turns_that_meet_all_conditions(
    subtests: pytest.Subtests, index: PersistentIndex
) -> None:
    for selection, names in [
        (Selection(), ["cart", "tax", "docs"]),
        (Selection(groups=(GROUP,)), ["cart", "tax", "docs"]),
        (Selection(since=START + timedelta(minutes=1)), ["tax", "docs"]),
        (Selection(until=START + timedelta(minutes=1)), ["cart"]),
        (Selection(session="s"), ["cart", "tax", "docs"]),
        (Selection(session="s2"), []),
        (Selection(format="claude_code"), ["cart", "tax", "docs"]),
        (Selection(format="codex"), []),
        (Selection(branch="main"), ["cart", "tax", "docs"]),
        (Selection(branch="dev"), []),
        (Selection(file="tax_rates.py"), ["tax"]),
        (Selection(file="src/tax_rates.py"), ["tax"]),
        (Selection(file="rates.py"), []),
        (Selection(file="/home/dev/shop/src/tax_rates.py"), ["tax"]),
        (Selection(file="/home/dev/shop/tax_rates.py"), []),
        (Selection(file="", relation="%"), []),
        (Selection(entity="CHECKOUT"), ["tax"]),
        (Selection(label="file"), ["tax"]),
        (Selection(relation="modified"), ["tax"]),
        (Selection(relation="PREFERS"), []),
        (Selection(tool="Bash"), []),
        (Selection(tool="\ud800"), []),
        (Selection(as_of=START + timedelta(minutes=1)), ["cart"]),
        (Selection(as_of=START + timedelta(minutes=2), relation="MODIFIED"), ["tax"]),
        (Selection(as_of=START + timedelta(minutes=2), relation="MODIFIED", label="Error"), []),
    ]:
        with subtests.test(selection=selection):
            await follow(index, *TEXTS)
            held = index.turns(index.select(selection).tolist())
            assert {one.receipt.turn_id for one in held.values()} == {turn(name) for name in names}


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("Корзина", "КОРЗИНА"),
        ("Straße", "STRASSE"),
        ("STRASSE", "straße"),
        ("İstanbul", "i\u0307stanbul"),
        ("I\u0307stanbul", "İSTANBUL"),
        ("Caf\u00e9", "CAFE\u0301"),
        ("cafe\u0301", "CAF\u00c9"),
    ],
)
async def test_names_are_compared_without_case_and_without_the_encoding_of_accents(
    index: PersistentIndex, name: str, typed: str
) -> None:
    await index.catch_up(_graph_of(name), EMBEDDER, now=NOW)
    for selection in (*_selections(typed), Selection(file=f"{typed}/{typed}.py")):
        assert len(index.select(selection)) == 1, selection
    assert len(index.select(Selection(file=f"{typed}.py"))) == 1
    assert len(index.select(Selection(file=f"/home/dev/{typed}/src/{typed}/{typed}.py"))) == 1
    held = index.turns(index.select(Selection(tool=typed)).tolist())
    assert {one.receipt.turn_id for one in held.values()} == {turn("tax")}
    assert index.values(Condition.TOOL) == [name]


@pytest.mark.parametrize(
    ("name", "typed"), [("\u0131rmak", "irmak"), ("İzmir", "izmir"), ("é", "e")]
)
async def test_other_letters_are_another_name(
    index: PersistentIndex, name: str, typed: str
) -> None:
    await index.catch_up(_graph_of(name), EMBEDDER, now=NOW)
    for selection in (*_selections(typed), Selection(file=f"{typed}.py")):
        assert len(index.select(selection)) == 0, selection


async def test_spellings_of_one_value_are_listed_once(index: PersistentIndex) -> None:
    spelled = contents(*TEXTS)
    receipts = [
        replace(one, tools=(tool,))
        for one, tool in zip(spelled.receipts, ("Bash", "BASH", "Read"), strict=True)
    ]
    graph_of_tools = LoadedGraph(replace(spelled, receipts=tuple(receipts)))
    await index.catch_up(graph_of_tools, EMBEDDER, now=NOW)
    assert index.values(Condition.TOOL) == ["BASH", "Read"]


def _selections(name: str) -> list[Selection]:
    return [
        Selection(entity=name),
        Selection(label=name),
        Selection(relation=name),
        Selection(tool=name),
    ]


def _graph_of(name: str) -> LoadedGraph:
    """Return a graph with a tool, an entity, a label, a relation and a file of this name."""
    file = replace(FILE, name=f"src/{name}/{name}.py")
    entity = replace(SESSION, name=name, labels=(name,))
    plain = contents(*TEXTS, facts=(replace(EDITED, relation=name),))
    receipts = [
        replace(one, tools=(name,)) if one.turn_id == turn("tax") else one for one in plain.receipts
    ]
    return LoadedGraph(replace(plain, entities=(file, entity), receipts=tuple(receipts)))


async def test_selected_turns_can_be_listed_newest_first(index: PersistentIndex) -> None:
    await follow(index, *TEXTS)
    keys = index.newest(Selection(since=START + timedelta(minutes=1)), limit=5)
    held = index.turns(keys)
    assert [held[key].receipt.turn_id for key in keys] == [turn("docs"), turn("tax")]
    assert index.newest(Selection(), limit=1) == keys[:1]


async def test_the_facts_that_meet_the_conditions_are_named(index: PersistentIndex) -> None:
    await follow(index, *TEXTS)
    keys = index.select(Selection()).tolist()
    assert index.selected_facts(Selection(relation="modified"), keys) == {EDITED.uuid}
    assert index.selected_facts(Selection(relation="PREFERS"), keys) == set()
    assert index.selected_facts(Selection(relation="modified"), []) == set()


async def test_the_values_of_a_condition_are_those_of_the_graph(index: PersistentIndex) -> None:
    await follow(index, *TEXTS)
    assert {condition.value: index.values(condition) for condition in Condition} == {
        "format": ["claude_code"],
        "branch": ["main"],
        "tool": [],
        "label": ["Concept", "File"],
        "relation": ["MODIFIED"],
    }


async def test_a_changed_fact_is_read_again_with_a_later_commit(index: PersistentIndex) -> None:
    await follow(index, "tax")
    ended = replace(EDITED, invalid_at=START, turns=(turn("tax"), turn("docs")))
    await index.catch_up(graph("tax", "docs", facts=(ended,)), EMBEDDER, now=NOW)
    (key,) = index.term_shares(Field.TEXT, {"norway": 1.0}, None, limit=10)
    assert index.facts([key])[key][0].fact.invalid_at == START


async def test_passages_have_their_distinct_tokens(index: PersistentIndex) -> None:
    await follow(index, *TEXTS)
    keys = index.select(Selection())
    passages = index.passage_tokens(keys[:1])
    assert passages.keys.tolist() == [keys[0]] * 2
    assert passages.starts[0] == 0
    assert len(passages.tokens) > passages.starts[1]
    frequencies, turns = index.token_frequencies(passages.tokens.tolist())
    assert turns == 3
    assert 1 <= frequencies.min() <= frequencies.max() <= 3


async def test_each_term_has_the_number_of_turns_that_contain_it(index: PersistentIndex) -> None:
    await follow(index, *TEXTS)
    texts = [set(Tokenizer().count(text)) for text in TEXTS.values()]
    terms = set().union(*texts, {"xyzzy"})
    counted = {term: sum(term in text for text in texts) for term in terms}
    assert index.term_frequencies(terms) == (counted, len(texts))
