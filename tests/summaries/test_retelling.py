"""What summaries and digests tell of facts: nothing that says nothing, and nothing twice."""

from collections.abc import Mapping

import pytest

from tests.summaries.facts import fact
from turnetl.base.model import Fact
from turnetl.episode_text.retelling import fixes, is_told, once, retold, says_something

TOLD = (
    ("DECIDED", "The user decided: can we also round cents?", "Round cents"),
    ("DECIDED", "The agent decided: `cart.py` keeps cents", "`cart.py` keeps cents"),
    (
        "DECIDED",
        "Asked “Which approach do you prefer?”, the user chose “cents” over “floats”",
        "Chose “cents” over “floats”",
    ),
    (
        "DECIDED",
        "Asked “How long do carts live?” the user answered: a week",
        "“How long do carts live?” a week",
    ),
    ("DECIDED", "On “rounding” the user answered: half up", "“rounding” half up"),
    ("DECIDED", "The user agreed to what the agent proposed: round cents", "Round cents"),
    ("REJECTED", "The user objected: round no cents", "Round no cents"),
    ("DECIDED", "The user accepted the plan: Round cents", "Accepted the plan “Round cents”"),
    ("DECIDED", "The user accepted in the plan “Round”: use integers", "Use integers"),
    (
        "REJECTED",
        "The user rejected the edit of `cart.py` (`+ float`): keep integers there",
        "The edit of `cart.py` (`+ float`): keep integers there",
    ),
    (
        "REJECTED",
        "The user rejected the edit of `cart.py` (`+ float`): why not integers?",
        "The edit of `cart.py` (`+ float`): why not integers?",
    ),
    (
        "FAILED_WITH",
        "`test_total` in `tests/cart/test_total.py` failed with `1 != 2` (`pytest -q`)",
        "`test_total` in `test_total.py` failed with `1 != 2`",
    ),
    ("RENAMED", "`a/cart.py` was moved to `b/cart.py`", "`a/cart.py` was moved to `b/cart.py`"),
    ("COMMITTED", "Commit `85c7b08`: Round cents", "Round cents (commit `85c7b08`)"),
    ("KNOWS", "設定を反映", "設定を反映"),
)
UNTOLD = (
    ("DECIDED", "The user decided: or is it fine?"),
    ("DECIDED", "The user decided: this is fine."),
    ("REJECTED", "The user rejected: is there no library??"),
    ("DECIDED", "The agent decided: [REDACTED_TEXT len=12 sha=7a220b7e]"),
    ("KNOWS", "<https://example.org>"),
    ("KNOWS", "<system-reminder>"),
    ("KNOWS", " -- 3"),
)


def test_a_fact_is_retold_without_speaker_question_command_and_folders(
    subtests: pytest.Subtests,
) -> None:
    for relation, text, expected in TOLD:
        with subtests.test(text=text):
            assert retold(text, relation) == expected


def test_a_question_a_tag_a_placeholder_and_what_points_at_something_unsaid_are_not_told(
    subtests: pytest.Subtests,
) -> None:
    for relation, text in UNTOLD:
        with subtests.test(text=text):
            assert retold(text, relation) == ""
    assert says_something("See https://example.org")


def failed(attributes: Mapping[str, str]) -> Fact:
    return fact("f", "`Edit` failed with `no match`", relation="FAILED_WITH", attributes=attributes)


def test_a_failed_call_of_the_agents_own_tools_is_not_told() -> None:
    assert not is_told(failed({"kind": "call"}))
    assert is_told(failed({"kind": "error"}))


def test_decisions_that_say_the_same_are_told_once_and_failures_of_two_tests_twice() -> None:
    texts = [
        ("DECIDED", "The user decided: retries stop after five attempts in `http.py`"),
        ("DECIDED", "The agent decided: Retries stop after five attempts"),
        ("FAILED_WITH", "`test_get_total_of_cart` failed with `KeyError: price`"),
        ("FAILED_WITH", "`test_get_total_of_order` failed with `KeyError: price`"),
        ("FAILED_WITH", "`test_get_total_of_order` failed with `KeyError: price`"),
    ]
    facts = [fact(str(at), text, relation=name) for at, (name, text) in enumerate(texts)]
    assert [one.uuid for one, _ in once(facts)] == ["0", "2", "3"]


def test_a_fix_names_the_file_without_its_folders_or_quotes_the_fact() -> None:
    told = "`pytest` failed in `test_a` and passed after `src/cart.py` was edited"
    facts = [
        fact("a", told, relation="FIXED_BY", source="one"),
        fact("b", "A lock fixed it.", relation="FIXED_BY", source="two"),
    ]
    assert fixes(facts) == {"one": "`cart.py`", "two": "A lock fixed it."}
