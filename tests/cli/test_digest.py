"""`turnetl digest`: what happened, by day or project, each statement with its turn."""

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import turnetl
from tests.cli.archives import conversation, row, tool_call, tool_result, write_archive
from tests.cli.command import run_in_process
from tests.cli.provider_setup import SESSION_START
from turnetl.base.clock import now

ALL = ("--since", "2026-01-01")


@pytest.fixture(scope="module")
def folder(filled_samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the graph of the samples; it is read only."""
    return shutil.copytree(filled_samples, tmp_path_factory.mktemp("digest"), dirs_exist_ok=True)


def digest(folder: Path, *arguments: str) -> dict[str, Any]:
    result = run_in_process("digest", *arguments, "--json", folder=folder)
    assert result.exit_code == 0, result.stderr
    return result.json


def sessions(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [session for section in found["sections"] for session in section["sessions"]]


@pytest.mark.parametrize("by", ["day", "project"])
def test_every_turn_of_the_time_is_in_one_session_of_one_section(folder: Path, by: str) -> None:
    found = digest(folder, *ALL, "--by", by)
    turns = [turn["turn_id"] for session in sessions(found) for turn in session["turns"]]
    expected = run_in_process("timeline", "-n", "999", "--json", folder=folder).json["turns"]
    assert sorted(turns) == sorted(turn["turn_id"] for turn in expected)
    assert found["turns"] == len(expected)
    titles = [section["title"] for section in found["sections"]]
    assert titles == sorted(set(titles))
    key = "group" if by == "project" else "started_at"
    for section in found["sections"]:
        for session in section["sessions"]:
            assert all(turn[key].startswith(section["title"]) for turn in session["turns"])


def test_a_session_has_its_intent_decisions_problems_changes_and_outcome(folder: Path) -> None:
    found = digest(folder, "--since", "2026-03-03", "--until", "2026-03-03")
    [session] = sessions(found)
    assert session["intent"].startswith("The checkout tests fail")
    assert "chose “Half up”" in str([one["fact"]["text"] for one in session["decisions"]])
    assert "KeyError: 'price'" in str([one["fact"]["text"] for one in session["solved_problems"]])
    assert "src/bookshop/discounts.py" in session["files"]
    assert session["outcome"].startswith("Discount codes are rows of the new `discounts`")
    turns = {turn["turn_id"] for turn in session["turns"]}
    assert {one["turn_id"] for one in session["decisions"]} <= turns


def test_every_statement_names_its_turn_and_every_session_its_lines(folder: Path) -> None:
    text = run_in_process("digest", *ALL, "--verbose", folder=folder).stdout
    for session in sessions(digest(folder, *ALL)):
        assert f"session {session['session_id'][:8]}" in text
        for one in session["decisions"][:3]:
            assert f"  {one['turn_id'][:8]}\n" in text
    assert "2026-03-03-checkout.jsonl:3-69" in text
    assert "2026-05-05 10:31 to 10:54, 2 turns" in text, "the end repeats no date"


AT = SESSION_START
SQLITE = "I decided to use SQLite instead of Postgres, because it needs no server."
CENTS = "I decided to use cents instead of floats."
PYTEST = "We decided to use pytest instead of unittest, because its messages are better."
HOSTILE = "See ![x](https://example.org/a.png) and [y](file:///etc/passwd) <img src=z>"


def minutes(number: int) -> timedelta:
    return timedelta(minutes=number)


PROJECTS = {
    "failure": [
        row("user", "Run the tests", "u1", AT),
        tool_call("c1", "Bash", AT, command="pytest -q"),
        tool_result("r1", "c1", "E   KeyError: 'price'\n1 failed in 0.12s", AT),
        row("assistant", "I looked.\n\nThey fail with KeyError.", "a1", AT),
    ],
    "report": conversation("The page is broken after login.", at=AT),
    "zebra": conversation("Explain zebra", at=AT),
    "decision": [
        row("user", "We decided to use pytest instead of unittest.", "u1", AT),
        tool_call("c1", "Write", AT, file_path="/home/kim/shop/db.py", content="import sqlite3"),
        tool_result("r1", "c1", "File created", AT),
        row("assistant", f"Done.\n\n{SQLITE}", "a1", AT),
    ],
    "colon": conversation(
        "Implement the following plan:\n\n## Round cents\n\nUse integers.", at=AT
    ),
    "question": [
        row("user", "Why do the tests fail?", "u1", AT),
        row("assistant", "A price is missing.\n\nShould I add it?", "a1", AT),
        row("user", "Yes, add the price, please", "u2", AT + minutes(1)),
        row(
            "assistant",
            "I added the price to the cart.\n\nWant me to commit it?",
            "a2",
            AT + minutes(2),
        ),
    ],
    "outcome": [
        row("user", "Why do the tests fail?", "u1", AT),
        row("assistant", "A price is missing.", "a1", AT),
        row("user", "Add the price, please", "u2", AT + minutes(1)),
        row("assistant", "I added the price.", "a2", AT + minutes(2)),
        row("user", "Commit it, please", "u3", AT + minutes(3)),
        tool_call("c1", "Bash", AT + minutes(4), command="git commit -am price"),
    ],
    "order": [
        row("user", "Set the shop up, please", "u1", AT),
        tool_call("c1", "Write", AT, file_path="/home/kim/shop/db.py", content="import sqlite3"),
        tool_result("r1", "c1", "File created", AT),
        row("assistant", f"{SQLITE}\n\n{CENTS}\n\n{PYTEST}\n\nDone.", "a1", AT),
        row("user", "And again, please", "u2", AT + minutes(1)),
        row("assistant", f"{CENTS}\n\nDone.", "a2", AT + minutes(2)),
    ],
    "backwards": [
        row("user", "Explain zebra, please", "u1", AT + minutes(120)),
        row("assistant", "It has stripes.", "a1", AT + minutes(60)),
    ],
    "hostile": conversation(HOSTILE, at=AT),
}
"""The rows of an archive for each project: one session."""


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the graph of `PROJECTS`; it is read only."""
    folder = tmp_path_factory.mktemp("projects")
    for name, rows in PROJECTS.items():
        own = [one.replace("/home/dev/shop", f"/home/dev/{name}") for one in rows]
        named = [one.replace('"s1"', f'"{name}"') for one in own]
        write_archive(folder / "archives" / f"{name}.jsonl", named)
    assert run_in_process("backfill", "archives", folder=folder).exit_code == 0
    return folder


def digest_of(folder: Path, project: str) -> tuple[dict[str, Any], str]:
    """Return the only session of a project, and what is printed about it."""
    options = (*ALL, "--group", project)
    [session] = sessions(digest(folder, *options))
    return session, run_in_process("digest", *options, folder=folder).stdout


@pytest.mark.full
def test_a_failure_without_a_later_success_is_an_open_problem(projects: Path) -> None:
    session, text = digest_of(projects, "failure")
    assert "KeyError: 'price'" in session["open_problems"][0]["fact"]["text"]
    assert session["outcome"] == "They fail with KeyError. (tests fail)"
    assert "  Open\n    • `pytest -q` failed with `KeyError: 'price'`" in text
    reported, _ = digest_of(projects, "report")
    assert "The page is broken" in reported["open_problems"][0]["fact"]["text"]
    other, _ = digest_of(projects, "zebra")
    assert (other["open_problems"], other["solved_problems"]) == ([], [])


@pytest.mark.full
def test_a_decision_says_whether_the_agent_made_it_and_stands_once(projects: Path) -> None:
    session, text = digest_of(projects, "decision")
    assert len(session["decisions"]) == 2, "a rejected alternative is no statement of its own"
    assert text.count("pytest instead of unittest") == 2, "of the prompt and as a decision"
    assert text.count(SQLITE) == 2, "as a decision and as the outcome"
    assert f"{SQLITE} (agent)  " in text


@pytest.mark.full
def test_a_prompt_that_ends_with_a_colon_is_shown_with_its_next_line(projects: Path) -> None:
    session, text = digest_of(projects, "colon")
    assert session["intent"] == "Implement the following plan: Round cents"
    assert f"  {session['intent']}\n" in text


@pytest.mark.full
def test_a_closing_question_is_an_open_question_and_no_outcome(projects: Path) -> None:
    session, text = digest_of(projects, "question")
    assert session["outcome"] == "I added the price to the cart."
    assert session["open_question"] == "Want me to commit it?"
    assert session["last_prompt"] == "Add the price"
    assert "Should I add it?" not in text
    assert "• Add the price: Want me to commit it?  " in text
    assert text.index("  Open\n") < text.index("  Answered\n")
    options = (*ALL, "--group", "question", "--markdown")
    markdown = run_in_process("digest", *options, folder=projects).stdout
    assert "### Open\n\n- Add the price: Want me to commit it? " in markdown


@pytest.mark.full
def test_an_outcome_and_a_last_prompt_name_the_turn_that_has_them(projects: Path) -> None:
    session, text = digest_of(projects, "outcome")
    _, second, third = (turn["turn_id"] for turn in session["turns"])
    assert (session["outcome"], session["outcome_turn_id"]) == ("I added the price.", second)
    assert session["last_prompt_turn_id"] == third
    assert f"→ Add the price: I added the price.  {second[:8]}\n" in text
    assert f"• Commit it (after: Add the price): no answer  {third[:8]}\n" in text


@pytest.mark.full
def test_decisions_are_in_the_order_in_which_they_were_said_and_each_once(projects: Path) -> None:
    session, text = digest_of(projects, "order")
    said = [SQLITE, CENTS, PYTEST]
    decided = [one["fact"]["text"].partition(": ")[2] for one in session["decisions"]]
    assert [*dict.fromkeys(one for one in decided if one in said)] == said
    assert [text.count(one) for one in said] == [1, 1, 1]


@pytest.mark.full
def test_a_session_whose_rows_are_not_in_order_begins_before_it_ends(projects: Path) -> None:
    _, text = digest_of(projects, "backwards")
    assert f"{AT + minutes(120):%Y-%m-%d %H:%M}, 1 turn" in text


@pytest.mark.full
def test_markdown_has_headings_and_can_load_nothing_that_an_archive_names(projects: Path) -> None:
    options = (*ALL, "--group", "hostile", "--markdown")
    text = run_in_process("digest", *options, folder=projects).stdout
    assert text.startswith("# Digest\n")
    assert "\n## 2026-03-02\n" in text
    assert "https://example.org/a.png" in text
    assert not any(mark in text for mark in (" ![", "](", " <img"))


def test_the_caption_names_both_ends_of_the_time(folder: Path) -> None:
    limits = ("--since", "2026-03-03", "--until", "2026-03-03")
    for arguments in (limits, (*limits, "--markdown")):
        text = run_in_process("digest", *arguments, folder=folder).stdout
        assert "since 2026-03-03 00:00 until 2026-03-0" in text
    nothing = ("--since", "2020-01-01", "--until", "2020-01-02")
    text = run_in_process("digest", *nothing, folder=folder).stdout
    assert "no turn since 2020-01-01 00:00 until 2020-01-0" in text


def test_it_writes_nothing_into_a_lake_whose_index_is_current(folder: Path) -> None:
    digest(folder, *ALL)

    def files() -> dict[Path, tuple[int, bytes]]:
        found = (path for path in (folder / ".turnetl").rglob("*") if path.is_file())
        return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in found}

    before = files()
    digest(folder, *ALL)
    assert files() == before


@pytest.mark.full
def test_without_a_time_it_is_about_yesterday_and_today(tmp_path: Path) -> None:
    today = now().replace(hour=0, minute=0, second=0, microsecond=0)
    for session, days in (("s1", 0), ("s2", 1), ("s3", 3)):
        at = today - timedelta(days=days)
        rows = conversation(f"Explain {session}", session=session, at=at)
        write_archive(tmp_path / "archives" / f"{session}.jsonl", rows)
    done = run_in_process("backfill", "archives", "--close-after", "0", folder=tmp_path)
    assert done.exit_code == 0
    found = [session["session_id"] for session in sessions(digest(tmp_path))]
    assert found in (["s2", "s1"], ["s1"])  # the second one if a day begins meanwhile


def test_a_time_without_turns_says_when_the_last_one_was(folder: Path) -> None:
    result = run_in_process("digest", "--since", "2026-06-01", folder=folder)
    assert result.exit_code == 0
    assert "the last one is of 2026-05-05: --since 2026-05-05" in result.stdout


def test_without_a_time_and_a_turn_since_yesterday_the_last_week_is_shown(folder: Path) -> None:
    found = digest(folder, "--by", "project")
    assert found["newest"].startswith("2026-05-05")
    assert found["since"].startswith("2026-04-29")
    assert found["turns"] > 0
    yesterday = now().date() - timedelta(days=1)
    assert found["asked_since"].startswith(str(yesterday))
    text = run_in_process("digest", "--by", "project", folder=folder).stdout
    assert f"no turn since {yesterday} 00:00; the last week with one: " in text


def test_an_invalid_argument_is_a_sentence(folder: Path, subtests: pytest.Subtests) -> None:
    for arguments, message in (
        (("--by", "week"), "by"),
        (("--group", "nothing"), "nothing"),
        (("--since", "2026-03-02", "--until", "2026-03-01"), "--until"),
    ):
        with subtests.test(arguments=arguments):
            result = run_in_process("digest", *arguments, folder=folder)
            assert result.exit_code == 2
            assert message in result.messages[0]


async def test_python_returns_the_same(folder: Path) -> None:
    settings = turnetl.Settings(lake=folder / ".turnetl" / "lake")
    answer = await turnetl.digest(settings, by="project")
    assert isinstance(answer.value, turnetl.Digest)
    assert answer.value.turns > 20
    with pytest.raises(turnetl.BadUsage, match="by day or project"):
        await turnetl.digest(settings, by="week")
