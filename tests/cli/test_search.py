"""`turnetl search` as users type it."""

from pathlib import Path

import pytest

from tests.cli.command import SAMPLES, run_in_process


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the graph of the samples; it is read only."""
    path = tmp_path_factory.mktemp("searched")
    assert run_in_process("backfill", SAMPLES, folder=path).exit_code == 0
    return path


def test_an_unquoted_query_finds_the_same_as_a_quoted_one(folder: Path) -> None:
    quoted = run_in_process("search", "why were customers charged twice", "--json", folder=folder)
    words = ["why", "were", "customers", "charged", "twice"]
    unquoted = run_in_process("search", *words, "--json", folder=folder)
    assert unquoted.exit_code == 0
    assert unquoted.json == quoted.json
    assert len(unquoted.json["hits"]) > 0


def test_options_may_stand_between_the_words_of_a_query(folder: Path) -> None:
    arguments = ("search", "why", "-n", "1", "were", "customers", "charged", "twice", "--json")
    assert len(run_in_process(*arguments, folder=folder).json["hits"]) == 1


def test_a_word_that_looks_like_an_option_is_named_with_the_nearest_option(folder: Path) -> None:
    result = run_in_process("search", "why", "--grop", "shop", folder=folder)
    assert result.exit_code == 2
    assert result.messages == [
        "turnetl: unknown option `--grop`; did you mean `--group`? See `turnetl search --help`"
    ]
