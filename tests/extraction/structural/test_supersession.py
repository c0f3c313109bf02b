from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import START, tool
from tests.extraction.structural.shop_group import NOW, ShopGroup

OLD, NEW = "Let's use pandas.", "Let's use polars instead of pandas."
LATER = START + timedelta(days=3)


async def ingest(shop: ShopGroup, native: str, text: str, *, days: int = 0) -> None:
    at = START + timedelta(days=days)
    await shop.ingest(native, user_text=text, assistant_text="Done.", started_at=at, ended_at=at)


async def test_a_decision_supersedes_the_one_that_chose_what_it_rejects(shop: ShopGroup) -> None:
    await ingest(shop, "a", OLD)
    await ingest(shop, "b", NEW, days=3)
    old, new = shop.facts("DECIDED")
    assert (old.invalid_at, old.expired_at) == (LATER, NOW)
    assert new.invalid_at is None
    [link] = shop.facts("SUPERSEDES")
    assert (link.source, link.target, link.valid_at) == (new.source, old.source, LATER)
    assert link.text == "“Let's use polars instead of pandas.” supersedes “Let's use pandas.”"


async def test_the_turn_mentions_the_decision_that_it_supersedes(shop: ShopGroup) -> None:
    await ingest(shop, "a", OLD)
    at = LATER
    resolved = await shop.resolve("b", user_text=NEW, started_at=at, ended_at=at)
    [old] = shop.facts("DECIDED")
    assert old.source in resolved.mentions


async def test_turns_that_arrive_late_end_the_same_fact(shop: ShopGroup) -> None:
    await ingest(shop, "b", NEW, days=3)
    await ingest(shop, "a", OLD)
    new, old = shop.facts("DECIDED")
    assert (old.valid_at, old.invalid_at, new.invalid_at) == (START, LATER, None)
    [link] = shop.facts("SUPERSEDES")
    assert (link.source, link.target, link.valid_at) == (new.source, old.source, LATER)


async def test_a_later_choice_of_the_rejected_name_stays_valid(shop: ShopGroup) -> None:
    await ingest(shop, "a", NEW)
    await ingest(shop, "b", OLD, days=3)
    assert [fact.invalid_at for fact in shop.facts("DECIDED")] == [None, None]
    assert shop.facts("SUPERSEDES") == []


async def test_a_decision_that_is_taken_back_ends_with_what_it_rejected(shop: ShopGroup) -> None:
    await ingest(shop, "a", OLD)
    await ingest(shop, "b", NEW, days=1)
    await ingest(shop, "c", "Let's use pandas instead of polars.", days=3)
    first, second, third = shop.facts("DECIDED")
    assert first.invalid_at == START + timedelta(days=1)
    assert (second.invalid_at, third.invalid_at) == (LATER, None)
    rejected, rejected_later = shop.facts("REJECTED")
    assert (rejected.invalid_at, rejected_later.invalid_at) == (LATER, None)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Let's use pandas for the plots.", "Let's use polars instead of pandas in the report."),
        ("Let's use pandas.", "Let's use polars instead of pandas in the report."),
        ("Let's use numpy.", NEW),
        ("We should never copy the pandas frame", NEW),
        ("Let's use polars instead of pandas.", "Let's use polars instead of pandas in tests."),
    ],
)
async def test_a_decision_about_another_subject_stays_valid(
    old: str, new: str, shop: ShopGroup
) -> None:
    await ingest(shop, "a", old)
    await ingest(shop, "b", new, days=3)
    assert {fact.invalid_at for fact in shop.facts("DECIDED")} == {None}
    assert shop.facts("SUPERSEDES") == []


async def test_decisions_that_share_a_word_of_their_subject_are_about_the_same(
    shop: ShopGroup,
) -> None:
    await ingest(shop, "a", "Let's use pandas for the monthly report.")
    await ingest(shop, "b", "Let's use polars instead of pandas in the report.", days=3)
    assert [fact.invalid_at for fact in shop.facts("DECIDED")] == [LATER, None]


async def test_names_match_in_any_case_and_as_a_file(shop: ShopGroup) -> None:
    edit = (tool("Edit", "/home/dev/shop/src/cart.py :: - a + b"),)
    await shop.ingest("a", user_text="Let's use cart.py.", assistant_text="", tool_calls=edit)
    await shop.ingest(
        "b",
        user_text="Let's use basket.py instead of Cart.py.",
        assistant_text="",
        tool_calls=edit,
        started_at=LATER,
    )
    assert [fact.invalid_at for fact in shop.facts("DECIDED")] == [LATER, None]


async def test_a_preference_is_superseded_as_a_decision_is(shop: ShopGroup) -> None:
    await ingest(shop, "a", "I prefer tabs.")
    await ingest(shop, "b", "I prefer spaces over tabs.", days=3)
    assert [fact.invalid_at for fact in shop.facts("PREFERS")] == [LATER, None]
    assert len(shop.facts("SUPERSEDES")) == 1


async def test_a_repeated_turn_gives_the_same_links(shop: ShopGroup) -> None:
    await ingest(shop, "a", OLD)
    first = await shop.resolve("b", user_text=NEW, started_at=LATER)
    assert await shop.resolve("b", user_text=NEW, started_at=LATER) == first


async def test_a_later_value_answer_or_negation_ends_a_decision_of_its_session(
    subtests: pytest.Subtests,
) -> None:
    for old, new in [
        ("Let's use redis for the session store.", "Let's use postgres for the session store."),
        ("Invoices should be numbered from 1.", "Invoices should be numbered from 0."),
        ("We should sort the orders ascending.", "We should sort the orders descending."),
        ("Prices should be rounded in the cart.", "Prices should not be rounded in the cart."),
        ("Let's use redis for the session store.", "no, rather use postgres for sessions"),
        ("The cart page should have two columns.", "actually, make the cart page one column"),
        ("Let's store prices as floats.", "revert that"),
        ("Orders are numbered from 1.", "actually, number the orders from 0"),
        ("Dark mode should be on by default.", "Dark mode should be off by default."),
        ("Bump the minimum Python version to 3.11.", "Bump the minimum Python version to 3.12."),
        ("Drop IE11 support.", "actually, keep IE11 support"),
        ('"Which store?"="SQLite"', '"Which store?"="Postgres"'),
    ]:
        shop = ShopGroup()
        with subtests.test(new=new):
            for native, text, at in (("a", old, START), ("b", new, LATER)):
                is_answer = text.startswith('"')
                await shop.ingest(
                    native,
                    user_text="Go on." if is_answer else text,
                    user_answers=(text,) if is_answer else (),
                    started_at=at,
                )
            ends = [fact.invalid_at for fact in shop.facts("DECIDED") + shop.facts("REJECTED")]
            assert sorted(ends, key=str) == [LATER, None]
            assert len(shop.facts("SUPERSEDES")) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "The invoice export should keep files for 30 days.",
            "The upload page should reject files of 20 megabytes.",
        ),
        ("Limit uploads to 20 MB.", "Limit downloads to 50 MB."),
        ("Errors should go to stderr.", "Results should go to stdout."),
        ("Drop support for Python 3.8.", "Drop support for Node 16."),
    ],
)
async def test_another_value_for_another_thing_ends_nothing(
    old: str, new: str, shop: ShopGroup
) -> None:
    await ingest(shop, "a", old)
    await ingest(shop, "b", new, days=3)
    assert [fact.invalid_at for fact in shop.facts("DECIDED")] == [None, None]
    assert shop.facts("SUPERSEDES") == []


async def test_what_git_takes_back_ends_what_the_agent_decided_about_the_file(
    shop: ShopGroup,
) -> None:
    edit = (tool("Edit", "/home/dev/shop/src/cart.py :: - a + b"),)
    ruled = "The total in `cart.py` now always returns cents."
    asked = "The tax in cart.py should never be rounded."
    await shop.ingest("a", user_text=asked, assistant_text=ruled, tool_calls=edit)
    undo = (replace(tool("Bash", "git checkout -- src/cart.py"), ended_at=LATER),)
    await shop.ingest("b", user_text="Undo it.", tool_calls=undo, started_at=LATER)
    ends = {fact.text.partition(":")[0]: fact.invalid_at for fact in shop.facts("DECIDED")}
    assert ends == {"The agent decided": LATER, "The user decided": None}


async def test_what_only_seems_to_take_back_a_decision_is_linked(shop: ShopGroup) -> None:
    await ingest(shop, "a", "The nightly export should write one file per customer order.")
    later = "let's write a file per region in the nightly export instead"
    await ingest(shop, "b", later, days=3)
    assert [fact.invalid_at for fact in shop.facts("DECIDED")] == [None, None]
    [link] = shop.facts("SUPERSEDES")
    assert link.text.startswith(f"A later turn says “{later}”; it may")
    other = "we should use blue for the title instead"
    resolved = await shop.resolve("c", user_text=other, started_at=LATER + timedelta(days=1))
    assert "SUPERSEDES" not in {fact.relation for fact in resolved.facts}
