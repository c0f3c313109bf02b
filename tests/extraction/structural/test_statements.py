from tests.builders import START, tool
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


async def test_repeated_names_in_backticks_are_concepts(shop: ShopGroup) -> None:
    await shop.ingest(
        user_text="what does applyDiscount do?",
        assistant_text="`OrderTotal` calls it. `OrderTotal` is `true` in `1.2.3` and `once_only`.",
        git_branch="ann/fix-cart",
    )
    assert set(shop.names("Concept")) == {"applyDiscount", "OrderTotal", "ann/fix-cart"}


async def test_a_default_branch_is_not_a_concept(shop: ShopGroup) -> None:
    await shop.ingest(git_branch="main")
    assert "main" not in shop.names("Concept")


async def test_a_file_in_backticks_is_a_file_and_not_a_concept(shop: ShopGroup) -> None:
    await shop.ingest(
        assistant_text="See `src/cart.py`. And `src/cart.py` again.",
        tool_calls=(tool("Read", "x.py"),),
    )
    assert "src/cart.py" in shop.names("File")
    assert "src/cart.py" not in shop.names("Concept")


def test_code_tables_and_tags_are_not_sentences() -> None:
    text = (
        "Intro words.\n```py\nx = 1\n```\n| a | b |\n<system-reminder>no</system-reminder>\n- Item"
    )
    assert prose.sentences(prose.plain(text)) == ["Intro words.", "Item"]


async def test_facts_about_the_whole_turn_connect_its_two_main_subjects(shop: ShopGroup) -> None:
    await shop.ingest(
        user_text="Why does applyDiscount ignore OrderTotal?",
        assistant_text="`applyDiscount` is called before `OrderTotal` is known.",
    )
    endpoints = {
        shop.name_of(uuid)
        for fact in (*shop.facts("ASKED"), *shop.facts("ANSWERED"))
        for uuid in (fact.source, fact.target)
    }
    assert endpoints == {"applyDiscount", "OrderTotal"}


async def test_the_project_is_an_endpoint_only_if_a_turn_has_one_subject(shop: ShopGroup) -> None:
    await shop.ingest(user_text="Explain applyDiscount", assistant_text="It lowers a price.")
    [fact] = shop.facts("ASKED")
    assert (shop.name_of(fact.source), shop.name_of(fact.target)) == ("applyDiscount", "shop")


async def test_a_chat_is_about_the_phrases_that_both_speakers_use(shop: ShopGroup) -> None:
    await shop.ingest(
        user_text="How does sourdough bread differ from other bread flour?",
        assistant_text="Sourdough bread rises with wild yeast, so its bread flour matters more.",
        cwd=None,
    )
    [fact] = shop.facts("ASKED")
    names = (shop.name_of(fact.source), shop.name_of(fact.target))
    assert names == ("sourdough bread", "bread flour")


async def test_a_bare_yes_continues_the_topic_of_the_prompt_before_it(shop: ShopGroup) -> None:
    bread = "Shall we bake sourdough bread with rye flour?"
    await shop.ingest("a", user_text=bread, assistant_text="Sourdough bread needs rye flour. Now?")
    await shop.ingest("b", user_text="yes", assistant_text="Done.")
    assert {shop.name_of(shop.facts("ASKED")[-1].source)} == {"sourdough bread"}
