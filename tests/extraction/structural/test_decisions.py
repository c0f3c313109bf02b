from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.builders import tool
from tests.extraction.structural.shop_group import ShopGroup
from turnetl.extraction.structural import decisions, problems
from turnetl.extraction.structural.decisions import StatementKind, TurnEvidence

EDIT = TurnEvidence(in_project=True, edited_files=True)
NO_EDIT = TurnEvidence(in_project=True, edited_files=False)
CHAT = TurnEvidence(in_project=False, edited_files=False)
DECISION, PREFERENCE, REJECTION, _ = StatementKind
SENTENCES = Path(__file__).with_name("statements.tsv")
"""Sentences as people and agents write them, each with what it states."""
CART = (tool("Edit", "src/cart.py :: - a + b"),)


def stated(speaker: str, text: str) -> set[str]:
    """Return the kinds of statements in a text of a turn that edits, or `none`."""
    if speaker == "agent":
        found = decisions.of_agent(text, EDIT, ())
    else:
        found = [*decisions.of_user([text], EDIT), *problems.reported(text)]
    return {one.kind.value for one in found} or {"none"}


def test_of_the_listed_sentences_only_those_that_state_something_do(
    subtests: pytest.Subtests,
) -> None:
    """A wrong statement costs more than a missed one: a tenth of them may be missed."""
    lines = SENTENCES.read_text("utf-8").splitlines()[1:]
    rows = [line.split("\t") for line in lines]
    missed = [text for speaker, kind, text in rows if stated(speaker, text) - {kind} == {"none"}]
    assert len(missed) <= len(rows) // 10, missed
    for speaker, kind, text in rows:
        with subtests.test(text=text):
            assert stated(speaker, text) <= {kind, "none"}


def test_a_decision_of_an_agent_names_its_subject_in_a_turn_that_edits() -> None:
    stated = "`total` now always returns cents instead of euros."
    assert [one.sentence for one in decisions.of_agent(stated, EDIT, ())] == [stated]
    assert decisions.of_agent(stated, NO_EDIT, ()) == []
    unnamed = "The value is rounded instead of cut."
    assert decisions.of_agent(unnamed, EDIT, ()) == []
    assert [one.sentence for one in decisions.of_agent(unnamed, EDIT, ["value"])] == [unnamed]


def test_an_agent_that_repeats_the_user_decides_nothing() -> None:
    said = decisions.of_user(["we should store whole cents in the cart"], EDIT)
    response = "`cart.py` now stores whole cents instead of euros."
    assert decisions.of_agent(response, EDIT, (), said) == []


def test_what_a_pronoun_means_is_added_or_the_statement_is_dropped() -> None:
    texts = ["The cart rounds each price. it should never round twice"]
    [stated] = decisions.of_user(texts, NO_EDIT)
    assert stated.sentence == "The cart rounds each price. it should never round twice"
    [stated] = decisions.of_user(["that is overkill"], NO_EDIT, "Totals get a cache.")
    assert stated.sentence == "that is overkill (about “Totals get a cache.”)"
    assert decisions.of_user(["that is overkill"], NO_EDIT) == []
    [stated] = decisions.of_agent(
        "`total` has no cache. If it is slow, it falls back to one.", EDIT, ()
    )
    assert stated.sentence == "`total` has no cache. If it is slow, it falls back to one."


def test_a_bracket_without_its_other_half_is_left_out() -> None:
    said = ["round the tax once) in the cart", "round the tax once (in the", "round (once) the tax"]
    assert [decisions.cleaned(one) for one in said] == [
        "round the tax once in the cart",
        "round the tax once",
        "round (once) the tax",
    ]


def test_a_clause_that_rejects_and_chooses_is_two_statements_or_only_the_choice() -> None:
    said = "I don't think we need a price cache but instead we keep one total per cart"
    both = [(one.kind, one.sentence) for one in decisions.of_user([said], EDIT)]
    assert both == [
        (REJECTION, "I don't think we need a price cache"),
        (DECISION, "keep one total per cart"),
    ]
    [one] = decisions.of_user(["not as a column, but as a table of its own"], EDIT)
    assert one.kind is DECISION


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("I prefer Italian food.", PREFERENCE),
        ("We decided to move to Oslo.", DECISION),
        ("The report should list every river.", None),
        ("Use candles instead of heaters.", None),
        ("That diet is overkill.", None),
    ],
)
def test_in_a_chat_only_the_first_person_counts(sentence: str, kind: StatementKind | None) -> None:
    assert decisions.user_kinds(sentence, CHAT) == ([kind] if kind else [])


async def test_a_decision_is_an_entity_with_its_reason(shop: ShopGroup) -> None:
    said = "We'll use `uuid5` because a second run finds the same keys."
    await shop.ingest(assistant_text=said, tool_calls=CART)
    assert shop.names("Decision") == ["We'll use uuid5 because a second run finds the same keys"]
    assert shop.texts("DECIDED") == [f"The agent decided: {said}"]


async def test_a_preference_is_an_entity_of_its_own_kind(shop: ShopGroup) -> None:
    await shop.ingest(user_text="I prefer tabs. Format the cart.", assistant_text="Done.")
    assert shop.names("Preference") == ["I prefer tabs"]
    assert shop.texts("PREFERS") == ["The user prefers: I prefer tabs."]


@pytest.mark.parametrize(
    ("before", "fields", "target"),
    [
        ({}, {"user_text": "We should store `tax.rate` as text"}, "Concept tax.rate"),
        ({}, {"user_text": "We should write all totals to `data/sums.csv`"}, "File data/sums.csv"),
        (
            {},
            {
                "user_text": "We should send late orders in whole batches",
                "tool_calls": (
                    tool("Edit", "src/cart.py :: - a + b"),
                    tool("Edit", "src/late.py :: - send(order) + send_batches(orders) # late"),
                ),
            },
            "File src/late.py",
        ),
        (
            {"user_text": "Is the gift card taxed?"},
            {"user_text": "We should never tax a gift card twice", "tool_calls": CART},
            "Concept gift card",
        ),
        ({}, {"user_text": "We should never round twice", "tool_calls": CART}, "File src/cart.py"),
        (
            {},
            {"user_text": "Read docs/refunds.md. We should never refund twice"},
            "File docs/refunds.md",
        ),
        (
            {"user_text": "Look at SHOP-12"},
            {"user_text": "We should never refund by mail"},
            "Ticket SHOP-12",
        ),
        (
            {},
            {
                "user_text": "Implement the following plan:\n\n# Plan: Late orders\n\n"
                "- Write all refunds to a single batch"
            },
            "Concept Late orders",
        ),
        ({}, {"user_text": "The retry limit should be three"}, "Concept retry limit"),
    ],
)
async def test_a_decision_is_about_what_it_names_or_else_what_its_turn_is_about(
    before: dict[str, str], fields: dict[str, Any], target: str, shop: ShopGroup
) -> None:
    if before:
        await shop.ingest("a", **before)
    await shop.ingest("b", **fields)
    [decided] = shop.facts("DECIDED")
    found = shop.group.entity(decided.target)
    assert found is not None
    assert f"{found.labels[0]} {found.name}" == target


async def test_a_rejected_alternative_is_an_entity_that_the_decision_rejects(
    shop: ShopGroup,
) -> None:
    await shop.ingest(user_text="Let's use polars instead of pandas.", assistant_text="Done.")
    [decided], [rejected] = shop.facts("DECIDED"), shop.facts("REJECTED")
    assert shop.name_of(decided.target) == "polars"
    assert shop.name_of(rejected.target) == "pandas"
    assert decided.source == rejected.source
    assert rejected.text == (
        "`pandas` was rejected in favour of `polars`: Let's use polars instead of pandas."
    )


async def test_steering_may_state_a_decision(shop: ShopGroup) -> None:
    await shop.ingest(steering=("<note>we should round tax</note>", "we should round tax"))
    assert shop.texts("DECIDED") == ["The user decided: we should round tax"]


async def test_a_pasted_text_states_nothing(shop: ShopGroup) -> None:
    pasted = "Look at this.\n" + "\n".join(f"Row {n} of the log." for n in range(100))
    await shop.ingest(user_text=f"{pasted}\nWe should never round.", assistant_text="Done.")
    assert shop.names("Decision") == []


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


async def test_a_comment_on_a_stopped_edit_rejects_it_unless_it_only_asks(
    shop: ShopGroup, subtests: pytest.Subtests
) -> None:
    edit = "the edit of `cart.py` (`print(total)`)"
    for comment, rejected, decided in [
        ("no, that is overkill here", True, []),
        (
            "use the logging framework, not print",
            True,
            [f"use the logging framework, not print (about “{edit}”)"],
        ),
        ("can we log it instead?", True, [f"log it instead (about “{edit}”)"]),
        ("why would that be empty?", False, []),
        ("pause, does this change the lock", False, []),
        ("stop", False, []),
    ]:
        result = f"The user doesn't want to proceed. The user said:\n{comment}"
        call = tool("Edit", "src/cart.py :: - log(total) + print(total)", result, is_error=True)
        resolved = await shop.resolve(user_answers=(comment,), tool_calls=(call,))
        texts = {fact.relation: fact.text for fact in resolved.facts}
        with subtests.test(comment=comment):
            assert (f"The user rejected {edit}: {comment}" in texts.values()) is rejected
            said = "".join(f"The user decided: {one}" for one in decided)
            assert texts.get("DECIDED", "") == said


async def test_an_accepted_plan_is_a_decision_and_so_are_its_rules(shop: ShopGroup) -> None:
    await shop.ingest(
        user_text=(
            "Implement the following plan:\n\n# Plan: One log a worktree\n\n"
            "- Write all logs to a single file\n- Update the tests\n- Check the result"
        ),
        tool_calls=(tool("Edit", "src/log.py :: - a + b"),),
    )
    assert set(shop.texts("DECIDED")) == {
        "The user accepted in the plan “One log a worktree”: Write all logs to a single file",
    }


async def test_a_plan_that_the_user_approves_in_a_turn_is_accepted(shop: ShopGroup) -> None:
    plan = "# Plan: Whole cents\n\n- Store prices as cents instead of floats"
    result = f"User has approved your plan.\n\n## Approved Plan:\n{plan}"
    shown = tool("ExitPlanMode", msgspec.json.encode({"plan": plan}).decode(), "You can start.")
    for call in (shown, tool("ExitPlanMode", "{}", result)):
        resolved = await shop.resolve(tool_calls=(call,))
        assert {fact.text for fact in resolved.facts} == {
            "The user accepted in the plan “Whole cents”: Store prices as cents instead of floats",
        }
    stopped = "The user doesn't want to proceed with this tool use."
    declined = tool("ExitPlanMode", shown.input, stopped, is_error=True)
    assert (await shop.resolve(tool_calls=(declined,))).facts == ()


async def test_who_repeats_a_statement_of_the_turn_before_states_nothing_new(
    shop: ShopGroup,
) -> None:
    said = "We should store whole cents in the cart."
    ruled = "`total` now always returns cents."
    edit = (tool("Edit", "src/cart.py :: - a + b"),)
    await shop.ingest("a", user_text=said, assistant_text=ruled, tool_calls=edit)
    first = set(shop.texts("DECIDED"))
    await shop.ingest("b", user_text=said, assistant_text=f"As said: {ruled}", tool_calls=edit)
    assert set(shop.texts("DECIDED")) == first
    assert len(first) == 2
