import msgspec
import pytest

from tests.builders import tool
from tests.extraction.structural.shop_group import ShopGroup
from turnetl.extraction.structural import decisions
from turnetl.extraction.structural.decisions import StatementKind, TurnEvidence

EDIT = TurnEvidence(in_project=True, edited_files=True)
NO_EDIT = TurnEvidence(in_project=True, edited_files=False)
CHAT = TurnEvidence(in_project=False, edited_files=False)
DECISION, PREFERENCE, REJECTION, _ = StatementKind


def test_an_agent_states_a_decision(subtests: pytest.Subtests) -> None:
    for sentence in [
        "I decided to use polars because pandas copies every column.",
        "We'll use uuid5 so that a second run finds the same keys.",
        "I'll go with SQLite since nothing else needs a server.",
        "I've kept the old column so that earlier exports still load.",
        "The hook now returns an error instead of silently continuing.",
        "Changed the cart key from the name to the id.",
        "✅ `src/cart.py` - Switched the total to whole cents",
        "The exporter no longer waits for the printer.",
        "A warning is enough because the next run repairs the table.",
        "If the printer is busy, it falls back to the queue.",
        "`total()` now rounds once, after all prices are added.",
        "The simplest fix is to sort the rows first.",
        "Since prices are whole cents, we should store an integer.",
        "Previously, an empty cart raised an error; now it has a total of zero.",
        "Retry rule: a call is repeated only if the server is busy.",
        "The order of the columns is intentionally fixed.",
    ]:
        with subtests.test(sentence=sentence):
            assert decisions.agent_decides(sentence)


def test_steps_proposals_reports_and_asides_of_an_agent_are_no_decisions(
    subtests: pytest.Subtests,
) -> None:
    for sentence in [
        "Should we use polars instead of pandas here?",
        "If you want, we'll use polars instead of pandas.",
        "I'll use the Task tool to explore the code.",
        "Let me keep reading the fixtures.",
        "Now let me replace the loop instead of patching it.",
        "The totals match because the fixture is there.",
        "You could use polars instead of pandas.",
        "I recommend an integer rather than a float.",
        "This means the total is rounded instead of cut.",
        "Everything should work now.",
        "`total()` now works on an empty cart.",
        "The page should be visible.",
        "The problem: the cart is read twice instead of once.",
        "Added a test that uses cents instead of floats.",
        "Updated the comment to say cents instead of euros.",
        "Previously the cart was read twice rather than once.",
        "The fix: check the cart when it is opened",
        "Line 12: the loop ends when the cart is empty",
        "Git stores snapshots rather than differences, which explains the size of the folder?",
    ]:
        with subtests.test(sentence=sentence):
            assert not decisions.agent_decides(sentence)


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


def test_a_user_states_a_decision_a_rejection_or_a_preference(subtests: pytest.Subtests) -> None:
    for sentence, kind in [
        ("Let's use whole cents.", DECISION),
        ("we should never round twice", DECISION),
        ("I think we should drop the cache", DECISION),
        ("I think we should fail early if the cart is missing, or?", DECISION),
        ("can we do this automatically instead?", DECISION),
        ("it should be called total, not sum", DECISION),
        ("don't round here", REJECTION),
        ("the cart should not round prices", REJECTION),
        ("do we need a cache for that?", REJECTION),
        ("rename the total to grand total", DECISION),
        ("I want the total to be an integer", DECISION),
        ("that is overkill", REJECTION),
        ("no, this is not worth the effort", REJECTION),
        ("it just adds complexity", REJECTION),
        ("I don't want a cache here", REJECTION),
        ("I prefer tabs.", PREFERENCE),
        ("From now on ask me before a release.", PREFERENCE),
        ("please never push to main", PREFERENCE),
        ("always run the formatter", PREFERENCE),
        ("stop adding emojis", PREFERENCE),
        ("keep our notes in the wiki", PREFERENCE),
        ("I'd rather have one table than three", DECISION),
        ("put the total into cart.py, not into the page", DECISION),
        ("keep the old total, don't rename it", DECISION),
        ("in this repo we use tabs, not spaces", PREFERENCE),
    ]:
        with subtests.test(sentence=sentence):
            assert decisions.user_kinds(sentence, EDIT) == [kind]
            if sentence.endswith("?") and not sentence.endswith("or?"):
                # It asks for something, and a turn that edits nothing did not do it.
                assert decisions.user_kinds(sentence, NO_EDIT) == []
    both = decisions.user_kinds("not as a column, but as a table of its own", NO_EDIT)
    assert both == [REJECTION, DECISION]


def test_questions_reports_and_requests_of_a_user_are_no_statements(
    subtests: pytest.Subtests,
) -> None:
    for sentence in [
        "wait let's discuss",
        "let's see how it looks",
        "let's have a look at the review",
        "Why would the total be empty?",
        "should we round here?",
        "can you check the total?",
        "the tests should pass now",
        "network should be better now",
        "there is an error if the cart is empty, we never see it",
        "consider a table instead of a column",
        "never discovered",
        "the spec says that the total must be an integer",
        "the reviewer said we should use whole cents",
        "we should probably add a cache at some point",
        "I accidentally used floats instead of integers",
        "you should see the total now",
        "don't edit any files yet",
        "It's never used for totals",
        "continue",
    ]:
        with subtests.test(sentence=sentence):
            assert decisions.user_kinds(sentence, EDIT) == []


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
    await shop.ingest(assistant_text="We'll use uuid5 because a second run finds the same keys.")
    assert shop.names("Decision") == ["We'll use uuid5 because a second run finds the same keys"]
    assert shop.texts("DECIDED") == [
        "The agent decided: We'll use uuid5 because a second run finds the same keys."
    ]


async def test_a_preference_is_an_entity_of_its_own_kind(shop: ShopGroup) -> None:
    await shop.ingest(user_text="I prefer tabs. Format the cart.", assistant_text="Done.")
    assert shop.names("Preference") == ["I prefer tabs"]
    assert shop.texts("PREFERS") == ["The user prefers: I prefer tabs."]


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
    await shop.ingest(steering=("<note>we should never round</note>", "we should never round"))
    assert shop.texts("DECIDED") == ["The user decided: we should never round"]


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
        ("use the logging framework, not print", True, ["use the logging framework, not print"]),
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
        "The user accepted the plan: One log a worktree",
        "The user accepted in the plan “One log a worktree”: Write all logs to a single file",
    }


async def test_a_plan_that_the_user_approves_in_a_turn_is_accepted(shop: ShopGroup) -> None:
    plan = "# Plan: Whole cents\n\n- Store prices as cents instead of floats"
    result = f"User has approved your plan.\n\n## Approved Plan:\n{plan}"
    shown = tool("ExitPlanMode", msgspec.json.encode({"plan": plan}).decode(), "You can start.")
    for call in (shown, tool("ExitPlanMode", "{}", result)):
        resolved = await shop.resolve(tool_calls=(call,))
        assert {fact.text for fact in resolved.facts} == {
            "The user accepted the plan: Whole cents",
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
