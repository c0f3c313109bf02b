"""`turnetl timeline`, `entity` and `file` as users type them."""

import asyncio
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import run_in_process
from turnetl.graph.open import open_graph

SESSION = "6beda5ed-5df4-42a1-99b8-0364221dca9b"


@pytest.fixture(scope="module")
def folder(filled_samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the graph of the samples; it is read only."""
    return shutil.copytree(filled_samples, tmp_path_factory.mktemp("history"), dirs_exist_ok=True)


@pytest.fixture(scope="module")
def turns(folder: Path) -> list[dict[str, Any]]:
    """Return all turns of a timeline."""
    shown = run_in_process("timeline", "-n", "999", "--json", folder=folder).json
    found: list[dict[str, Any]] = shown["turns"]
    assert shown["count"] == len(found)
    return found


def test_a_timeline_is_in_the_order_of_time_and_ends_with_the_last_turn(
    folder: Path, turns: list[dict[str, Any]]
) -> None:
    shown = run_in_process("timeline", "-n", "5", "--json", folder=folder).json
    times = [turn["started_at"] for turn in turns]
    assert times == sorted(times)
    assert turns[-5:] == shown["turns"]
    assert shown["count"] == len(turns) > 5


def test_a_timeline_has_the_turns_that_meet_the_conditions(
    folder: Path, turns: list[dict[str, Any]], subtests: pytest.Subtests
) -> None:
    for options in (
        ("--session", SESSION),
        ("--entity", "keyerror: 'price'"),
        ("--file", "cart.py"),
        ("--since", "2026-03-03", "--until", "2026-03-03"),
        ("--group", "bookshop"),
    ):
        with subtests.test(options=options):
            shown = run_in_process("timeline", *options, "--json", folder=folder).json
            assert 0 < shown["count"] < len(turns)
            assert "66185fa7" in {turn["id"] for turn in shown["turns"]}
            assert all(turn in turns for turn in shown["turns"])


def test_a_timeline_prints_a_row_per_turn(folder: Path) -> None:
    result = run_in_process("timeline", "--session", SESSION, folder=folder)
    first, outcome, files, *_, count = result.stdout.splitlines()
    assert first.startswith("2026-03-03 09:12  66185fa7  bookshop  The checkout tests fail")
    assert outcome.strip().startswith("→ Migration 0007 renamed the column")
    assert files.strip() == "files: src/bookshop/cart.py"
    assert count == "3 turns"


def test_a_timeline_without_turns_says_so(folder: Path) -> None:
    result = run_in_process("timeline", "--until", "2020", folder=folder)
    assert (result.exit_code, result.stdout.count("\n")) == (0, 1)


def test_conditions_of_a_timeline_that_select_nothing_are_explained(
    folder: Path, subtests: pytest.Subtests
) -> None:
    dates = ("--since", "2026-05", "--until", "2026-01")
    for options, message in (
        (("--file", "art.py"), "no turn has a fact about the file `art.py`; similar: `src/"),
        (("--entity", "no such"), "no turn has a fact about the entity `no such`; "),
        (("--session", "nothing"), "no session has an id that begins with `nothing`; "),
        (("--file", ""), "`--file` is empty: give it a value, or omit it"),
        (dates, "no turn can be selected: `--until` ends at 2026-02-01 00:00, and `--since` beg"),
        (("--group", "nope"), "there is no group `nope`"),
    ):
        with subtests.test(options=options):
            result = run_in_process("timeline", *options, folder=folder)
            assert (result.exit_code, result.stdout) == (2, "")
            assert result.messages[-1].startswith(f"turnetl: {message}")


def test_an_unknown_group_is_named(folder: Path) -> None:
    for command in (("entity", "pytest"), ("file", "cart.py")):
        assert run_in_process(*command, "--group", "nope", folder=folder).exit_code == 2


def test_an_entity_is_printed_with_its_turns(folder: Path) -> None:
    result = run_in_process("entity", "KeyError:", "'price'", folder=folder)
    assert result.stdout.startswith("KeyError: 'price'  Error  bookshop\n")
    assert "66185fa7  The checkout tests fail" in result.stdout
    assert "(ended on 2026-03-03 09:12 by turn 66185fa7: " in result.stdout


def test_a_file_is_found_by_the_end_of_its_path_and_from_a_clone(folder: Path) -> None:
    by_end = run_in_process("file", "cart.py", "--json", folder=folder).json
    from_clone = run_in_process("file", "./src/bookshop/cart.py", "--json", folder=folder).json
    assert by_end == from_clone
    assert by_end["entity"]["name"] == "src/bookshop/cart.py"
    assert by_end["turn_count"] == 2


def test_a_file_is_no_other_entity(folder: Path) -> None:
    result = run_in_process("file", "pytest", folder=folder)
    assert result.exit_code == 2
    assert result.messages[0].startswith("turnetl: there is no file `pytest` in the graph")


def test_a_fix_begins_with_the_answer_and_ends_with_its_lineage(folder: Path) -> None:
    result = run_in_process("fix", "KeyError: 'price'", folder=folder)
    first, resolved, *_, archive = result.stdout.splitlines()
    assert first == "KeyError: 'price'  bookshop"
    assert resolved == "    fixed 2026-03-03 09:12, 32 seconds later"
    assert "      Fix: `Cart.add` reads `price_cents` and divides by 100." in result.stdout
    assert archive.endswith("2026-03-03-checkout.jsonl:3-20")


def test_a_test_that_passed_in_a_later_turn_names_both_turns(folder: Path) -> None:
    words = ["test_the_same_event_delivered_twice_counts_once", "failed"]
    (error,) = run_in_process("fix", *words, "--json", folder=folder).json["errors"]
    (occurrence,) = error["occurrences"]
    assert occurrence["turn"]["id"] != occurrence["resolved_by"]["id"]
    assert "src/bookshop/db.py" in " ".join(fact["text"] for fact in occurrence["evidence"])


def test_an_unknown_error_has_no_fix(folder: Path) -> None:
    result = run_in_process("fix", "segmentation", "fault", folder=folder)
    assert result.exit_code == 0
    assert result.stdout.startswith("no error in the graph matches")


@pytest.mark.full
def test_without_an_error_that_matches_the_turns_of_a_search_are_printed(folder: Path) -> None:
    text = "KeyError: 'colour' in Cart.add"
    result = run_in_process("fix", text, folder=folder)
    first, *lines = result.stdout.splitlines()
    assert first.startswith("no error in the graph matches; these are the turns that")
    assert any(line.strip().startswith("66185fa7 · 2026-03-03") for line in lines)
    printed = run_in_process("fix", text, "--json", folder=folder).json
    assert printed["errors"] == []
    assert [turn["id"] for turn in printed["turns"]][:1] == ["66185fa7"]


@pytest.mark.full
def test_a_text_that_starts_with_hyphens_is_no_option(folder: Path) -> None:
    test = "TestNewYearsEveStaysInDecember"
    for words in ((f"--- FAIL: {test} (0.00s)",), ("---", "FAIL:", test)):
        (error, *_) = run_in_process("fix", *words, "--json", folder=folder).json["errors"]
        assert f"`{test}` in" in error["occurrences"][0]["fact"]["text"]
    assert run_in_process("search", f"--- FAIL: {test}", "--json", folder=folder).json["hits"]


def test_a_fix_needs_a_text_and_no_unknown_option(folder: Path, subtests: pytest.Subtests) -> None:
    needed = "`turnetl fix` needs the message of an error, or a part of it"
    unknown = "unknown option `--limt`; did you mean `--limit`? See `turnetl fix --help`"
    for words, message in (
        (("",), needed),
        (("  ",), needed),
        (("KeyError", "--limt", "1"), unknown),
    ):
        with subtests.test(words=words):
            result = run_in_process("fix", *words, folder=folder)
            assert (result.exit_code, result.stdout) == (2, "")
            assert result.messages == [f"turnetl: {message}"]


@pytest.mark.full
def test_while_another_process_writes_the_graph_the_index_answers(shop: Path) -> None:
    turn, _ = run_in_process("timeline", "--json", folder=shop).json["turns"]
    graph = shop / ".turnetl/lake/graph.lbug"
    os.utime(graph, (0, 0))
    with asyncio.Runner() as runner:
        url = f"ladybug://{graph}"
        writer = runner.run(open_graph(url, user="", password="", write=True))
        result = run_in_process("show", turn["id"], folder=shop)
        runner.run(writer.close())
    assert (result.exit_code, len(result.messages)) == (0, 1)
    assert f"Prompt\n    {turn['prompt']}\n" in result.stdout


def test_a_long_error_says_how_much_of_it_is_compared(folder: Path) -> None:
    result = run_in_process("fix", "segmentation fault " * 1000, folder=folder)
    assert result.exit_code == 0
    assert "only the first 2,000 of the 19,000 characters are compared" in result.messages[0]
