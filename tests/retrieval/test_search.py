"""Search returns the turns that match a query, best first."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from tests import builders
from tests.builders import GROUP, START
from tests.fakes.followed_graphs import LoadedGraph
from tests.retrieval.searching import search_groups
from tests.scale import scaled
from turnetl.base import ids
from turnetl.base.graph_model import GroupContents, Receipt
from turnetl.base.model import Entity, Fact, GroupId, SessionId, TurnId
from turnetl.index.conditions import Selection
from turnetl.index.persistent import PersistentIndex
from turnetl.llm.embedders.static_model import WordLlamaEmbedder
from turnetl.retrieval.hits import PASSAGE, SearchHit
from turnetl.retrieval.search import search

EMBEDDER = WordLlamaEmbedder()


def turn(name: str, group: GroupId = GROUP) -> TurnId:
    return ids.turn_id(group, "claude_code", name)


def receipt(name: str, minute: int = 0, session: str = "s1", group: GroupId = GROUP) -> Receipt:
    episode = builders.episode(
        name,
        group_id=group,
        session_id=SessionId(session),
        ordinal=minute,
        started_at=START + timedelta(minutes=minute),
        archive=f"archives/{session}.jsonl",
        first_line=10 * minute + 1,
        last_line=10 * minute + 9,
    )
    return builders.receipt(episode)


def fact(text: str, *turns: str, relation: str = "MODIFIED") -> Fact:
    return Fact(
        uuid=ids.digest(text),
        group_id=GROUP,
        source="e1",
        target="e2",
        relation=relation,
        text=text,
        turns=tuple(turn(name) for name in turns),
        created_at=START,
        valid_at=START,
    )


ENTITIES = (
    Entity("e1", GROUP, "one end", (), "", START),
    Entity("e2", GROUP, "another end", (), "", START),
)


def group(
    texts: dict[str, str], *facts: Fact, sessions: dict[str, str] | None = None
) -> GroupContents:
    """Return a group of turns with these texts, a minute apart, by default in own sessions."""
    session_of = sessions or {}
    names = enumerate(texts)
    return GroupContents(
        group_id=GROUP,
        profile=None,
        entities=ENTITIES,
        facts=facts,
        receipts=tuple(receipt(name, minute, session_of.get(name, name)) for minute, name in names),
        texts={turn(name): text for name, text in texts.items()},
    )


async def hits_for(query: str, *groups: GroupContents, limit: int = 10) -> list[SearchHit]:
    return await search_groups(groups, query, EMBEDDER, limit=limit)


def turns(hits: Sequence[SearchHit]) -> list[TurnId]:
    return [hit.turn_id for hit in hits]


SHOP = {
    "cart": "user: Why does the checkout test fail?\n\nassistant: The cart was empty.",
    "tax": "user: Add tax for Norway\n\nassistant: `compute_tax()` in src/tax_rates.py knows it.",
    "docs": "user: Write the README\n\nassistant: Installation and usage are described.",
}


async def test_the_turn_with_the_matching_text_comes_first() -> None:
    assert turns(await hits_for("checkout test", group(SHOP)))[0] == turn("cart")


@pytest.mark.parametrize(
    "query", ["compute_tax", "src/tax_rates.py", "tax_rates.py", "rates", "computeTax"]
)
async def test_an_identifier_is_found_whole_and_by_its_parts(query: str) -> None:
    assert turns(await hits_for(query, group(SHOP)))[0] == turn("tax")


@pytest.mark.parametrize(
    ("query", "match"),
    [
        ("the basket had nothing in it", "cart"),
        ("the manual that explains installing and using it", "docs"),
    ],
)
async def test_a_paraphrase_is_found_by_its_meaning(query: str, match: str) -> None:
    assert turns(await hits_for(query, group(SHOP)))[0] == turn(match)


@pytest.mark.parametrize("markup", ["<details>", "<br>", "**", "| --- |"])
async def test_an_answer_with_a_paragraph_of_markup_alone_is_shown(markup: str) -> None:
    said = {"cart": f"user: Why is it red?\n\nassistant: {markup}\n\nThe walrus cart was empty."}
    (hit,) = await hits_for("walrus cart", group(said))
    assert hit.snippet.text == "The walrus cart was empty."


async def test_a_fact_leads_to_its_turn_even_if_the_text_does_not_match() -> None:
    hits = await hits_for("walrus", group(SHOP, fact("`walrus.py` was edited", "docs")))
    assert hits[0].turn_id == turn("docs")
    assert hits[0].fact == "`walrus.py` was edited"
    assert hits[0].relation == "MODIFIED"


async def test_the_exact_name_comes_before_one_with_the_same_parts() -> None:
    facts = (fact("`total_cart.py` was read", "one"), fact("`cart_total.py` was read", "two"))
    same = group({"one": "user: do it", "two": "user: do it"}, *facts)
    assert turns(await hits_for("cart_total.py", same))[0] == turn("two")
    assert turns(await hits_for("total_cart.py", same))[0] == turn("one")


async def test_among_equal_turns_the_newest_comes_first() -> None:
    same = group(dict.fromkeys(["first", "second", "third"], "user: count the carts"))
    assert turns(await hits_for("carts", same)) == [turn("third"), turn("second"), turn("first")]


async def test_a_fact_of_two_turns_leads_to_both() -> None:
    edited = fact("`walrus.py` was edited", "docs", "tax")
    assert set(turns(await hits_for("walrus", group(SHOP, edited)))[:2]) == {
        turn("docs"),
        turn("tax"),
    }


async def test_a_turn_is_one_hit_with_its_best_fact_first_and_the_others_after() -> None:
    facts = (fact("`a.py` was read", "cart"), fact("the checkout test failed", "cart"))
    hits = await hits_for("checkout test", group(SHOP, *facts))
    assert turns(hits) == [turn("cart")]
    assert hits[0].fact == "the checkout test failed"
    assert [fact.fact for fact in hits[0].more_facts] == ["`a.py` was read"]


async def test_a_turn_without_a_fact_shows_its_best_passage() -> None:
    hit = (await hits_for("is the cart empty", group(SHOP)))[0]
    assert (hit.relation, hit.fact) == (PASSAGE, "The cart was empty.")
    assert hit.valid_at == START


async def test_a_hit_names_its_archive_and_lines() -> None:
    hit = (await hits_for("Norway", group(SHOP)))[0]
    assert (hit.archive, hit.first_line, hit.last_line) == ("archives/tax.jsonl", 11, 19)
    assert (hit.group_id, hit.session_id) == (GROUP, "tax")


async def test_an_invalidated_fact_is_found_with_its_end() -> None:
    invalidated = replace(
        fact("the walrus port is 8080", "docs"), invalid_at=START + timedelta(days=1)
    )
    assert (await hits_for("walrus", group(SHOP, invalidated)))[
        0
    ].invalid_at == invalidated.invalid_at


async def test_a_turn_after_a_matching_one_is_found_after_it() -> None:
    texts = {"plan": "user: rename the walrus", "yes": "user: do it", "other": "user: do it"}
    sessions = {"plan": "s1", "yes": "s1", "other": "s2"}
    found = turns(await hits_for("walrus", group(texts, sessions=sessions)))
    assert found == [turn("plan"), turn("yes")]


async def test_scores_lie_between_0_and_1_and_decrease() -> None:
    text = "the checkout test fails because the cart is empty"
    texts = {**SHOP, "same": f"user: {text}"}
    scores = [hit.score for hit in await hits_for(text, group(texts, fact(text, "same")))]
    assert scores
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


@pytest.mark.parametrize("query", ["", "  ", "\n\t"])
async def test_an_empty_query_finds_nothing(query: str) -> None:
    assert await hits_for(query, group(SHOP)) == []


async def test_nothing_is_found_in_an_empty_graph() -> None:
    assert await hits_for("cart") == []
    assert await hits_for("cart", group({})) == []


@pytest.mark.full
async def test_the_limit_is_the_maximum_number_of_hits() -> None:
    same = group(dict.fromkeys(["first", "second", "third"], "user: count the carts"))
    assert len(await hits_for("cart", same, limit=2)) == 2
    assert await hits_for("cart", same, limit=0) == []
    assert await hits_for("cart", same, limit=-1) == []


async def test_only_turns_between_since_and_until_are_hits() -> None:
    since = START + timedelta(minutes=1)
    hits = await search_groups([group(SHOP)], "cart", EMBEDDER, selection=Selection(since=since))
    assert turn("cart") not in turns(hits)
    hits = await search_groups([group(SHOP)], "cart", EMBEDDER, selection=Selection(until=since))
    assert turns(hits) == [turn("cart")]


@pytest.mark.full
async def test_all_groups_are_searched_together() -> None:
    farm = GroupId("farm")
    other = GroupContents(
        group_id=farm,
        profile=None,
        entities=(),
        facts=(),
        receipts=(receipt("cow", group=farm),),
        texts={turn("cow", farm): "user: feed the cow"},
    )
    assert turns(await hits_for("cow", group(SHOP), other))[0] == turn("cow", farm)
    assert turns(await hits_for("Norway", group(SHOP), other))[0] == turn("tax")


async def test_the_order_in_which_a_store_loads_a_group_does_not_matter() -> None:
    edited = fact("checkout failed", "cart", "tax")
    alike = [replace(edited, uuid=f"{n}", relation=f"KIND_{n}") for n in range(4)]
    one = group(SHOP, *alike, sessions=dict.fromkeys(SHOP, "s1"))
    other = replace(
        one,
        facts=one.facts[::-1],
        receipts=one.receipts[::-1],
        texts=dict(list(one.texts.items())[::-1]),
    )
    assert await hits_for("why did checkout fail", one) == await hits_for(
        "why did checkout fail", other
    )


async def test_a_turn_is_found_by_the_name_of_an_entity_of_its_facts() -> None:
    entities = (
        Entity("e1", GROUP, "walrus", ("File",), "", START),
        Entity("e2", GROUP, "session", ("Concept",), "", START),
    )
    contents = replace(group(SHOP, fact("it was edited", "docs")), entities=entities)
    assert turns(await hits_for("walrus", contents))[0] == turn("docs")


async def test_a_turn_is_found_by_the_label_of_an_entity_and_not_by_its_summary() -> None:
    """A summary quotes facts of other turns, which are found by them."""
    entity = Entity("e1", GROUP, "bear", ("Walrus",), "A pelican of the zoo.", START)
    contents = replace(group(SHOP, fact("it was edited", "docs")), entities=(entity, ENTITIES[1]))
    assert turns(await hits_for("walrus", contents)) == [turn("docs")]
    assert turns(await hits_for("pelican", contents)) == []


@pytest.mark.parametrize("query", ["xyzzy flurble", "why xyzzy", "pasta carbonara"])
async def test_a_query_about_an_unknown_subject_has_no_hits(query: str) -> None:
    texts = {**SHOP, "reason": "user: go on\n\nassistant: Done, because you said so."}
    assert await hits_for(query, group(texts)) == []


@pytest.mark.parametrize("query", ["moving", "moved", "moves", "move"])
async def test_a_short_verb_matches_in_every_form(query: str) -> None:
    forms = {name: f"user: they {name} it" for name in ("move", "moved", "moves", "moving")}
    assert set(turns(await hits_for(query, group({**forms, **SHOP})))) == {
        turn(form) for form in forms
    }


@pytest.mark.full
@settings(max_examples=scaled(50))
@given(query=st.text(max_size=30), text=st.text(max_size=200), fact_text=st.text(max_size=30))
async def test_unusual_texts_never_raise(query: str, text: str, fact_text: str) -> None:
    hits = await hits_for(query, group({"a": text, **SHOP}, fact(fact_text, "a")))
    assert len(hits) <= (4 if query.strip() else 0)


async def test_lone_surrogates_never_raise() -> None:
    hits = await hits_for("\ud83d cart", group({**SHOP, "odd": "user: \ud83d"}))
    assert hits[0].turn_id == turn("cart")


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ('"src/tax_rates.py knows it."', ["tax"]),
        ('"SRC/TAX_RATES.PY  knows"', ["tax"]),
        ('"the cart was empty"', ["cart"]),
        ('"cart the was empty"', []),
        ('"was"', ["cart"]),
        ('"()`"', ["tax"]),
        ('"are" usage', ["docs"]),
    ],
)
async def test_a_quoted_part_is_in_every_hit_as_it_is(
    tmp_path: Path, query: str, names: list[str]
) -> None:
    index = PersistentIndex(tmp_path, EMBEDDER.name, EMBEDDER.dimensions)
    await index.catch_up(LoadedGraph(group(SHOP)), EMBEDDER, now=START)
    for selection in (Selection(), Selection(groups=(GROUP,))):
        found = await search(index, query, EMBEDDER, selection=selection)
        assert turns(found.hits) == [turn(name) for name in names]
    index.close()


async def test_a_question_about_a_subject_that_never_came_up_has_no_hits(tmp_path: Path) -> None:
    index = PersistentIndex(tmp_path, EMBEDDER.name, EMBEDDER.dimensions)
    texts = {f"t{n}": f"user: change number {n}\n\nassistant: Done." for n in range(30)}
    await index.catch_up(LoadedGraph(group({**SHOP, **texts})), EMBEDDER, now=START)
    unknown = "which number of penguins lives on the southern continent"
    found = await search(index, unknown, EMBEDDER)
    assert found.hits == ()
    assert found.distant > 0
    nearest = await search(index, unknown, EMBEDDER, nearest=True)
    assert len(nearest.hits) == found.distant
    for known in ("compute_tax", "Norway", "why does the checkout test fail", "installation"):
        assert (await search(index, known, EMBEDDER)).hits
    index.close()
