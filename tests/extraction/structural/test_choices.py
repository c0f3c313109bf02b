import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnetl.extraction.structural.supersession import Choice, choice, context_words


def test_a_choice_names_what_is_chosen_and_what_is_rejected(subtests: pytest.Subtests) -> None:
    for sentence, chosen, rejected in [
        ("Let's use polars instead of pandas.", "polars", "pandas"),
        ("We'll use `uuid5()` rather than `uuid4()` for keys.", "uuid5", "uuid4"),
        ("Replaced requests with httpx.", "httpx", "requests"),
        ("Switched from unittest to pytest because of fixtures.", "pytest", "unittest"),
        ("Migrated back from `DuckDB` to `SQLite`.", "SQLite", "DuckDB"),
        ("Changed `OLD_KEY` to `NEW_KEY` in the config.", "NEW_KEY", "OLD_KEY"),
        ("Tabs over spaces.", "Tabs", "spaces"),
        ("Instead of pandas we use polars.", "polars", "pandas"),
        ("`enable_cache` replaces the old `disable_cache`", "enable_cache", "disable_cache"),
        ("I'll go with SQLite since it needs no server.", "SQLite", ""),
        ("We decided on ruff.", "ruff", ""),
        ("Use it instead of this.", "", ""),
        ("Use one log instead of many.", "", ""),
        ("It logs instead of printing.", "", ""),
        ("Use the cart page instead of the old page layout.", "", ""),
        ("Don't round.", "", ""),
        ("Use pandas instead of Pandas.", "", ""),
    ]:
        with subtests.test(sentence=sentence):
            assert choice(sentence) == Choice(chosen, rejected)


def test_the_context_of_a_choice_has_neither_its_names_nor_function_words() -> None:
    sentence = "We should use `polars` instead of `pandas` for the monthly report."
    assert context_words(sentence, choice(sentence)) == {"monthly", "report"}
    assert context_words("Let's use polars.", choice("Let's use polars.")) == frozenset()


@given(st.text(alphabet="ab `.,-?from to instead of use", max_size=300))
def test_a_rejected_name_always_has_a_chosen_one(sentence: str) -> None:
    found = choice(sentence)
    assert found.chosen or not found.rejected
    assert found.chosen != found.rejected or not found.chosen
