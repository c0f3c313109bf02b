"""`turnetl sessions`, and `turnetl resume`, which starts the agent of a session."""

import shutil
import stat
from datetime import datetime
from pathlib import Path

import pytest

from tests.cli.archives import conversation, write_archive
from tests.cli.command import CommandResult, run_in_process
from tests.cli.typed_terminal import answered

SESSION = "6beda5ed-5df4-42a1-99b8-0364221dca9b"
_UUID = "0b1c2d3e-0000-4000-8000-00000000000{}"


@pytest.fixture(scope="module")
def folder(filled_samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the graph of the samples; it is read only."""
    return shutil.copytree(filled_samples, tmp_path_factory.mktemp("sessions"), dirs_exist_ok=True)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a home with two sessions in a project that exists, and a `claude` in `bin`."""
    project = tmp_path / "shop"
    project.mkdir()
    for number, prompt in enumerate(("Round the prices of the cart", "Send the invoices by mail")):
        name = _UUID.format(number)
        rows = conversation(prompt, session=name, at=datetime.fromisoformat("2026-03-01T10:00Z"))
        text = [row.replace("/home/dev/shop", str(project)) for row in rows]
        write_archive(tmp_path / ".claude" / "projects" / "shop" / f"{name}.jsonl", text)
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "started in $PWD with $*"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    assert run_in_process("backfill", "--yes", folder=tmp_path).exit_code == 0
    return tmp_path


def resumed(home: Path, *words: str) -> CommandResult:
    return run_in_process("resume", *words, folder=home, PATH=f"{home / 'bin'}:/usr/bin:/bin")


def test_sessions_are_listed_newest_first_with_what_they_were_about(folder: Path) -> None:
    shown = run_in_process("sessions", "--json", "-n", "99", folder=folder).json
    assert len(shown["sessions"]) == shown["count"] > 3
    times = [one["ended_at"] for one in shown["sessions"]]
    assert times == sorted(times, reverse=True)
    (one,) = [one for one in shown["sessions"] if one["session_id"] == SESSION]
    assert (one["group"], one["format"]) == ("bookshop", "claude_code")
    assert one["title"]
    turns = run_in_process("timeline", "--session", SESSION, "--json", folder=folder).json
    assert one["turns"] == turns["count"]


def test_a_session_counts_if_one_of_its_turns_meets_the_conditions(
    folder: Path, subtests: pytest.Subtests
) -> None:
    everything = run_in_process("sessions", "--json", folder=folder).json["count"]
    for options in (
        ("--session", SESSION[:8]),
        ("--file", "cart.py"),
        ("--group", "bookshop"),
        ("--as-of", "2026-03-03"),
        ("--until", "2026-03-03"),
    ):
        with subtests.test(options=options):
            shown = run_in_process("sessions", *options, "--json", "-n", "1", folder=folder).json
            assert 0 < shown["count"] < everything
            assert len(shown["sessions"]) == 1


def test_a_condition_that_no_turn_meets_is_wrong_usage(folder: Path) -> None:
    result = run_in_process("sessions", "--tool", "Bsh", folder=folder)
    assert result.exit_code == 2
    assert "no turn has the tool `Bsh`; did you mean `Bash`?" in result.messages[0]


def test_at_80_columns_no_line_of_the_list_is_longer(folder: Path) -> None:
    output, code = answered("sessions", folder=folder, typed="")
    assert code == 0
    assert max(map(len, output.splitlines())) <= 80
    assert SESSION[:8] in output


def test_the_agent_is_started_in_the_folder_of_its_session(home: Path) -> None:
    result = resumed(home, "invoices", "by", "mail", "--print")
    assert result.stdout == f"cd {home / 'shop'} && claude --resume {_UUID.format(1)}\n"
    value = resumed(home, _UUID.format(0)[:36], "--json").json
    assert value["command"] == ["claude", "--resume", _UUID.format(0)]
    assert (value["folder"], value["problem"]) == (str(home / "shop"), None)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("y", 0),
        pytest.param("n", 1, marks=pytest.mark.full),
        pytest.param("", 1, marks=pytest.mark.full),
    ],
)
def test_the_agent_is_started_after_a_yes_only(answer: str, code: int, home: Path) -> None:
    output, ended = answered(
        "resume", "round the prices", folder=home, typed=f"{answer}\n", PATH=f"{home / 'bin'}"
    )
    assert ended == code, output
    assert "Continue it? [y/N]" in output
    started = f"started in {home / 'shop'} with --resume {_UUID.format(0)}"
    assert (started in output) == (code == 0)
    assert ("nothing was started" in output) == (code == 1)


def test_nothing_is_started_without_a_terminal(home: Path) -> None:
    result = resumed(home, _UUID.format(0))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "nothing was started" in result.messages[-1]


def test_why_a_session_cannot_be_continued_is_said(home: Path) -> None:
    name = _UUID.format(0)
    missing = run_in_process("resume", name, folder=home, PATH="/nowhere")
    assert missing.exit_code == 1
    assert "`claude` is not installed" in missing.messages[0]
    (home / ".claude" / "projects" / "shop" / f"{name}.jsonl").unlink()
    assert "its transcript was deleted" in resumed(home, name).messages[0]
    shutil.rmtree(home / "shop")
    assert "its folder is gone" in resumed(home, name).messages[0]
    # For another machine, the command is still printed.
    printed = resumed(home, name, "--print")
    assert printed.stdout.endswith(f"claude --resume {name}\n")
    assert "its folder is gone" in printed.messages[0]


def test_a_session_is_found_as_a_search_finds_it(home: Path) -> None:
    words = ("invoices", "on", "1", "march", "2026")
    assert run_in_process("search", *words, "--json", folder=home).json["hits"]
    assert f"--resume {_UUID.format(1)}" in resumed(home, *words, "--print").stdout


def test_words_that_no_turn_has_lead_to_no_session(home: Path) -> None:
    result = resumed(home, "kubernetes", "ingress", "controller")
    assert result.exit_code == 2
    assert "no session has the id" in result.messages[0]


def test_the_beginning_of_several_ids_lists_them(home: Path) -> None:
    result = resumed(home, _UUID.format(0)[:8])
    assert result.exit_code == 2
    assert "is several" in result.messages[0]
    listed = result.messages[1:3]
    assert all(_UUID.format(number) in listed[number] for number in (0, 1))
