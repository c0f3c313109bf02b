import pytest

from tests.builders import START
from tests.extraction.structural.shop_group import ShopGroup
from turnetl.episode_text import options, prose
from turnetl.episode_text.options import Reply

CHOICE = """Two ways to fix it:

**Option A**: Keep prices as integers
- simple

**Option B**: Keep prices as decimals

Which approach do you prefer?"""
INTEGERS, DECIMALS = "Keep prices as integers", "Keep prices as decimals"


def test_a_short_reply_is_resolved_to_the_options_that_it_picks(subtests: pytest.Subtests) -> None:
    offer = options.offer(CHOICE)
    numbered = options.offer("1. Keep prices as integers\n2. Keep prices as decimals\nWhich one?")
    for prompt, chosen, rejected in [
        ("A", [INTEGERS], [DECIMALS]),
        ("b)", [DECIMALS], [INTEGERS]),
        ("let's go with option A because it is simple", [INTEGERS], [DECIMALS]),
        ("the second one", [DECIMALS], [INTEGERS]),
        ("both", [INTEGERS, DECIMALS], []),
        ("neither", [], [INTEGERS, DECIMALS]),
        ("option B doesn't work", [], [DECIMALS]),
    ]:
        with subtests.test(prompt=prompt):
            found = options.reply(prompt, offer)
            assert found is not None
            assert (list(found.chosen), list(found.rejected)) == (chosen, rejected)
    for prompt in ("2", "ok, 2 please", "#2", "选2", "nimm 2"):
        with subtests.test(prompt=prompt):
            found = options.reply(prompt, numbered)
            assert found is not None
            assert list(found.chosen) == [DECIMALS]
    for prompt in (
        "A new file is needed",
        "a new file",
        "3",
        "Bring it back",
        "2 files are missing",
        "all tests fail",
    ):
        with subtests.test(prompt=prompt):
            assert options.reply(prompt, offer) is None
            assert options.reply(prompt, numbered) is None


def test_a_yes_accepts_what_the_agent_proposed_unless_it_is_done_once(
    subtests: pytest.Subtests,
) -> None:
    for response, content in [
        ("Done.\n\nShould I replace `sum` by `fsum`?", "replace `sum` by `fsum`"),
        (
            "The cart should round once, at the end.\n\nWant me to fix it that way?",
            "fix it that way (“The cart should round once, at the end.”)",
        ),
        ("Done. Want me to push the branch?", ""),
        ("Done. Should I run the tests?", ""),
        ("Done. Should I add this to the architecture doc?", ""),
        ("Done. Want me to create a plan for the cart?", ""),
        (
            "Done. Should I add a doc button to the cart?",
            "add a doc button to the cart",
        ),
        ("Done. Does this make sense?", ""),
    ]:
        for yes, no in (
            ("yes please", "no"),
            ("sounds good", "nope"),
            ("ja", "nein"),
            ("好的", "不用"),
        ):
            with subtests.test(response=response, yes=yes):
                texts = [content] if content else []
                offer = options.offer(response)
                agreed, refused = options.reply(yes, offer), options.reply(no, offer)
                assert agreed is not None
                assert refused is not None
                assert (list(agreed.chosen), list(refused.rejected)) == (texts, texts)


def test_what_follows_a_yes_is_kept() -> None:
    offer = options.offer("Should I add a cache for totals?")
    assert options.reply("yes, but limit it to ten entries", offer) == Reply(
        ("add a cache for totals",), (), "but limit it to ten entries"
    )


async def test_replies_to_items_of_a_list_and_a_yes_become_decisions(shop: ShopGroup) -> None:
    await shop.ingest("a", assistant_text="Left: #3 the tax of `total`, #4 the audit log. Fix?")
    await shop.ingest(
        "b", user_text="#3 round it once\n#4 no", assistant_text="Shall I drop the price cache?"
    )
    await shop.ingest("c", user_text="yes please", assistant_text="Done.")
    assert shop.texts("DECIDED") == [
        "On “the tax of `total`” the user answered: round it once",
        "The user agreed to what the agent proposed: drop the price cache",
    ]
    assert shop.texts("REJECTED") == ["On “the audit log” the user answered: no"]


async def test_a_pick_is_a_decision_with_the_alternative_that_it_rejects(shop: ShopGroup) -> None:
    await shop.ingest("a", assistant_text=CHOICE)
    await shop.ingest("b", user_text="Option A", assistant_text="Done.")
    assert shop.texts("DECIDED") == [
        f"Asked “Which approach do you prefer?”, the user chose “{INTEGERS}” over “{DECIMALS}”"
    ]
    [rejected] = shop.texts("REJECTED")
    assert rejected == (
        "Asked “Which approach do you prefer?”, the user rejected "
        f"“{DECIMALS}” in favour of “{INTEGERS}”"
    )


async def test_a_reported_problem_is_an_error_that_the_user_states(
    shop: ShopGroup, subtests: pytest.Subtests
) -> None:
    for prompt, name in [
        ("tests are failing", "tests are failing"),
        ("we get this:\nKeyError: 'price'\nthe cart is broken", "KeyError: 'price'"),
        ("the hook throws this error: Error: cannot save the cart", "cannot save the cart"),
        ("why is the cart showing no prices?", "why is the cart showing no prices?"),
        (
            "Totals are never checked for nil. Consider adding a guard.",
            "Totals are never checked for nil",
        ),
        (
            "`total` is never checked (for nil), so please add a guard",
            "total is never checked (for nil)",
        ),
        ("Totals are never checked), consider a guard.", "Totals are never checked"),
        ("die Kasse funktioniert nicht", "die Kasse funktioniert nicht"),
    ]:
        with subtests.test(prompt=prompt):
            resolved = await shop.resolve(user_text=prompt, assistant_text="Done.")
            facts = [fact for fact in resolved.facts if fact.relation == "REPORTED"]
            names = {entity.uuid: entity.name for entity in resolved.entities}
            assert [names[fact.target] for fact in facts] == [name]
            assert {names[fact.source] for fact in facts} == {"user"}
    for prompt in (
        "if the cart is missing, return an error",
        "fix the error handling of the cart",
        "does it fail locally?",
        "the cart should fail early",
        "all tests pass, no errors",
        "you've put the guard into the cart, you forgot the order",
    ):
        with subtests.test(prompt=prompt):
            resolved = await shop.resolve(user_text=prompt, assistant_text="Done.")
            assert [fact for fact in resolved.facts if fact.relation == "REPORTED"] == []


async def test_what_is_only_said_is_no_fact(shop: ShopGroup) -> None:
    resolved = await shop.ingest(
        user_text="How does applyDiscount work?",
        assistant_text="It works because `OrderTotal` is known. The price is lowered.",
        steering=("and how is OrderTotal made?",),
    )
    assert resolved.facts == ()


async def test_facts_have_the_turn_and_its_time(shop: ShopGroup) -> None:
    resolved = await shop.ingest("a", user_text="Let's use whole cents.")
    assert {fact.reference_time for fact in resolved.facts} == {START}
    assert {fact.turns for fact in resolved.facts} == {(shop.turns[0].turn_id,)}


def test_a_placeholder_in_backticks_is_kept() -> None:
    assert prose.plain("In <b>bold</b>: `docs/<name>.md`") == "In  bold : `docs/<name>.md`"


def test_code_tables_and_tags_are_not_sentences() -> None:
    text = (
        "Intro words.\n```py\nx = 1\n```\n| a | b |\n<system-reminder>no</system-reminder>\n- Item"
    )
    assert prose.sentences(prose.plain(text)) == ["Intro words.", "Item"]
