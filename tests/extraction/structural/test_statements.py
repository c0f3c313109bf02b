import pytest

from tests.builders import START, tool
from tests.extraction.structural.shop_group import ShopGroup
from turnetl.extraction.structural import decisions, prose
from turnetl.model import ClosedBy


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


@pytest.mark.parametrize(
    "sentence",
    [
        "I decided to use polars because pandas copies every column.",
        "We'll use uuid5 so that a second run finds the same keys.",
        "I'll go with SQLite since nothing else needs a server.",
        "The hook now returns an error instead of silently continuing.",
    ],
)
def test_a_stated_choice_is_a_decision(sentence: str) -> None:
    assert decisions.of_agent(f"Some words.\n\n{sentence}\n\nMore words.") == [sentence]


@pytest.mark.parametrize(
    "sentence",
    [
        "Should we use polars instead of pandas here?",
        "If you want, we'll use polars instead of pandas.",
        "I'll use the Task tool to explore the code.",
        "Let me keep reading the tests.",
        "The tests pass because the fixture is there.",
        "You could use polars instead of pandas.",
    ],
)
def test_questions_options_and_steps_are_not_decisions(sentence: str) -> None:
    assert decisions.of_agent(sentence) == []


async def test_a_decision_is_an_entity_with_its_reason(shop: ShopGroup) -> None:
    await shop.ingest(assistant_text="We'll use uuid5 because a second run finds the same keys.")
    assert shop.names("Decision") == ["We'll use uuid5 because a second run finds the same keys"]
    assert shop.texts("DECIDED") == [
        "The agent decided: We'll use uuid5 because a second run finds the same keys."
    ]


async def test_an_answer_to_a_question_is_a_decision_of_the_user(shop: ShopGroup) -> None:
    await shop.ingest(user_answers=('"Which store?"="SQLite", "Which port?"="8080"',))
    assert sorted(shop.texts("DECIDED")) == [
        "Asked “Which port?” the user answered: 8080",
        "Asked “Which store?” the user answered: SQLite",
    ]


@pytest.mark.parametrize("answer", ["..", "…!", " _ ", '"Which store?"=".."'])
async def test_an_answer_without_a_word_decides_nothing(answer: str, shop: ShopGroup) -> None:
    await shop.ingest(user_answers=(answer,))
    assert shop.names("Decision") == []


async def test_a_rejection_with_a_comment_is_a_decision_and_one_with_a_question_is_not(
    shop: ShopGroup,
) -> None:
    await shop.ingest("a", user_answers=("use the logging framework, not print",))
    await shop.ingest("b", user_answers=("why would that be empty?",))
    assert shop.texts("DECIDED") == [
        "The user stopped a step and said: use the logging framework, not print"
    ]
    assert shop.texts("STEERED") == [
        "While the agent worked, the user said: why would that be empty?"
    ]


@pytest.mark.parametrize(
    ("comment", "asks"),
    [
        ("pause, does this change the lock", True),
        ("why would that be empty?", True),
        ("no, do it with uuid5", False),
        ("use the logging framework", False),
    ],
)
def test_a_comment_that_asks_a_question_decides_nothing(comment: str, asks: bool) -> None:
    assert decisions.is_question(comment) is asks


async def test_an_accepted_plan_is_a_decision(shop: ShopGroup) -> None:
    await shop.ingest(
        user_text="Implement the following plan:\n\n# Plan: One log a worktree\n\nText."
    )
    assert shop.names("Decision") == ["Plan: One log a worktree"]


async def test_repeated_names_in_backticks_are_concepts(shop: ShopGroup) -> None:
    await shop.ingest(
        user_text="what does applyDiscount do?",
        assistant_text="`OrderTotal` calls it. `OrderTotal` is `true` in `1.2.3` and `once_only`.",
        git_branch="ann/fix-cart",
    )
    assert set(shop.names("Concept")) == {"shop", "applyDiscount", "OrderTotal", "ann/fix-cart"}


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
