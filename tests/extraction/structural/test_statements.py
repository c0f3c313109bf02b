from tests.builders import START
from tests.extraction.structural.shop_group import ShopGroup
from turnetl.base.model import ClosedBy
from turnetl.extraction.structural import prose


async def test_prompt_and_conclusion_of_a_turn_are_facts(shop: ShopGroup) -> None:
    await shop.ingest(
        user_text="Why does the checkout test fail?",
        assistant_text="Let me look.\n\nNow let me run the tests:\n\nThe fixture forgot an item.",
    )
    assert shop.texts("ASKED") == ["The user asked: Why does the checkout test fail?"]
    assert shop.texts("ANSWERED") == ["The agent answered: The fixture forgot an item."]


async def test_facts_have_the_turn_and_its_time(shop: ShopGroup) -> None:
    resolved = await shop.ingest("a")
    assert {fact.reference_time for fact in resolved.facts} == {START}
    assert {fact.turns for fact in resolved.facts} == {(shop.turns[0].turn_id,)}


async def test_an_interrupted_turn_is_described_as_such(shop: ShopGroup) -> None:
    await shop.ingest(user_text="Drop the cache", assistant_text="", closed_by=ClosedBy.INTERRUPTED)
    assert shop.texts("ASKED") == [
        "The user asked: Drop the cache (interrupted before it was done)"
    ]
    assert shop.texts("ANSWERED") == []


async def test_a_bare_yes_is_stored_with_the_question_it_answers(shop: ShopGroup) -> None:
    await shop.ingest("a", assistant_text="All is done. Should I push the branch?")
    await shop.ingest("b", user_text="yes")
    assert shop.texts("ASKED")[-1] == (
        "The user asked: yes (to the question: Should I push the branch?)"
    )


async def test_steering_is_a_fact(shop: ShopGroup) -> None:
    await shop.ingest(steering=("and log the new session id",))
    assert shop.texts("STEERED") == [
        "While the agent worked, the user said: and log the new session id"
    ]


def test_code_tables_and_tags_are_not_sentences() -> None:
    text = (
        "Intro words.\n```py\nx = 1\n```\n| a | b |\n<system-reminder>no</system-reminder>\n- Item"
    )
    assert prose.sentences(prose.plain(text)) == ["Intro words.", "Item"]
