"""`turnetl search` as users type it."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import run_in_process


@pytest.fixture(scope="module")
def folder(filled_samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the graph of the samples; it is read only."""
    return shutil.copytree(filled_samples, tmp_path_factory.mktemp("searched"), dirs_exist_ok=True)


@pytest.mark.full
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


def hits(folder: Path, *arguments: str) -> list[dict[str, Any]]:
    result = run_in_process("search", *arguments, "--json", folder=folder)
    assert result.exit_code == 0, result.stderr
    listed: list[dict[str, Any]] = result.json["hits"]
    return listed


def test_filters_without_a_query_list_turns_newest_first(folder: Path) -> None:
    listed = hits(folder, "--since", "2026-03", "--until", "2026-03", "--group", "bookshop")
    times = [hit["started_at"] for hit in listed]
    assert times == sorted(times, reverse=True)
    assert {time[:7] for time in times} == {"2026-03"}
    assert {hit["score"] for hit in listed} == {1.0}


def test_each_filter_selects_turns(subtests: pytest.Subtests, folder: Path) -> None:
    for arguments, count in (
        (("--relation", "failed_with", "--until", "2026-02"), 2),
        (("--file", "checkout.py", "--relation", "CHANGED"), 1),
        (("--file", "/home/dev/bookshop/src/bookshop/checkout.py"), 2),
        (("--entity", "total_cents"), 1),
        (("--label", "Error", "--group", "shoebox"), 6),
        (("--tool", "bash", "--until", "2026-02"), 3),
        (("--format", "claude_code", "--since", "2026-05"), 2),
        (("--session", "6beda5ed", "--until", "2026-02"), 0),
        (("--file", "checkout.py", "--until", "2020"), 0),
        (("photos", "--branch", "main", "--since", "7d"), 0),
    ):
        with subtests.test(arguments=arguments):
            assert len(hits(folder, *arguments)) == count


def test_a_path_with_a_dot_is_relative_to_the_current_folder(folder: Path) -> None:
    inside = folder / "src" / "bookshop"
    inside.mkdir(parents=True, exist_ok=True)
    by_path = run_in_process(
        "search",
        "--file",
        "./checkout.py",
        "--lake",
        folder / ".turnetl/lake",
        "--json",
        folder=inside,
    )
    assert by_path.json["hits"] == hits(folder, "--file", "src/bookshop/checkout.py")


def test_hits_can_be_sorted_by_time(folder: Path) -> None:
    found = hits(folder, "tests", "fail", "--sort", "time", "-n", "5")
    times = [hit["started_at"] for hit in found]
    assert times == sorted(times, reverse=True)
    best = hits(folder, "tests", "fail", "-n", "5")
    assert {hit["id"] for hit in found} == {hit["id"] for hit in best}


@pytest.mark.full
def test_as_of_marks_facts_that_were_invalidated_later(folder: Path) -> None:
    failed = ("--relation", "FAILED_WITH", "--as-of")
    then = run_in_process("search", *failed, "2026-03-03T09:12:40", folder=folder)
    assert "with `KeyError: 'price'`" in then.stdout
    assert "\n    invalidated later, at 2026-03-03 09:12\n" in then.stdout
    printed = run_in_process("search", *failed, "2026-03-03T09:12:40", "--json", folder=folder)
    assert printed.json["as_of"] == "2026-03-03T09:12:40+00:00"
    (hit,) = printed.json["hits"]
    assert hit["invalid_at"] > printed.json["as_of"]
    assert hits(folder, *failed, "2026-03-03") == []
    assert hits(folder, "--relation", "FAILED_WITH", "--session", hit["session_id"][:8])


def test_further_facts_that_were_invalidated_are_marked(folder: Path) -> None:
    query = ("why did the checkout tests fail", "-n", "1")
    printed = run_in_process("search", *query, "-v", folder=folder).stdout
    more = [line for line in printed.splitlines() if "·" in line]
    assert any("(ended on 2026-03-03 09:12 by turn 66185fa7: " in line for line in more)
    (hit,) = hits(folder, *query)
    assert any(fact["invalid_at"] for fact in hit["more_facts"])


def test_what_cannot_select_a_turn_is_explained(subtests: pytest.Subtests, folder: Path) -> None:
    for arguments, message in [
        (("--relation", "CHANGD"), "no turn has the relation `CHANGD`; did you mean `CHANGED`?"),
        (("--label", "Eror", "x"), "no turn has the label `Eror`; did you mean `Error`?"),
        (("--tool", "bsh"), "no turn has the tool `bsh`; did you mean `Bash`?"),
        (("--branch", "7"), "no turn has the branch `7`; the graph has duplicates, heic, main"),
        (("--format", "codex"), "no turn has the format `codex`; the graph has claude_code"),
        (("--file", "eckout.py"), "no turn has a fact about the file `eckout.py`; similar: `"),
        (
            ("--entity", "decimals"),
            "no turn has a fact about the entity `decimals`; `turnetl search`",
        ),
        (
            ("--entity", "total_cent", "x"),
            "no turn has a fact about the entity `total_cent`; similar: `total_cents`",
        ),
        (
            ("--session", "nothing"),
            "no session has an id that begins with `nothing`; `turnetl show`",
        ),
        (("--session", ""), "`--session` is empty: give it a value, or omit it"),
        (("lint", "--file", " "), "`--file` is empty: give it a value, or omit it"),
        (("--group", "shop"), "there is no group `shop`; existing groups: bookshop, shoebox"),
        ((), "`turnetl search` needs a query, or a filter such as `--since 7d`"),
        (("", "--sort", "time"), "`turnetl search` needs a query, or a filter"),
        (
            ("x", "--recipe", "edge-hybrid-search-rrf", "--as-of", "7d"),
            "`--as-of` is not an option of a recipe: a recipe takes --group, --since and --until",
        ),
        (
            ("--since", "2026-05", "--until", "2026-03"),
            "no turn can be selected: `--until` ends at 2026-04-01 00:00, and `--since` begins at",
        ),
        (("x", "--sort", "date"), "`--sort` takes `score` or `time`, not `date`"),
    ]:
        with subtests.test(arguments=arguments):
            result = run_in_process("search", *arguments, folder=folder)
            assert result.exit_code == 2
            assert result.messages[-1].startswith(f"turnetl: {message}")


def test_without_hits_the_quoted_texts_that_every_hit_must_contain_are_named(folder: Path) -> None:
    found = run_in_process(
        "search", 'failed in "rewind_test.go" and "no such [bold]"', folder=folder
    )
    assert found.exit_code == 0
    said = " ".join(found.stdout.split())
    assert "the quoted texts `rewind_test.go`, `no such [bold]` as it is" in said
    assert "without the quotes" in said


def test_filters_that_no_turn_meets_together_are_no_wrong_words(folder: Path) -> None:
    found = run_in_process("search", "--file", "checkout.py", "--until", "2020", folder=folder)
    assert found.exit_code == 0
    assert found.stdout.startswith("no turn meets all filters; omit one of them")


@pytest.mark.full
def test_a_long_query_says_how_much_of_it_is_compared(folder: Path) -> None:
    query = "why were customers charged twice " * 100
    result = run_in_process("search", query, "--json", folder=folder)
    assert result.exit_code == 0
    (message,) = result.messages
    assert message.startswith("turnetl: only the first 2,000 of the 3,300 characters are compared:")
    assert run_in_process("search", query[:2000], folder=folder).messages == []
