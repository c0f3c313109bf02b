"""`turnetl sources`, and `turnetl backfill` without archives."""

import re
import shlex
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.agent_sources.homes import machine, transcript
from tests.cli.command import run_in_process
from tests.cli.typed_terminal import answered, interrupted
from tests.printed import printed
from turnetl.agent_sources import ArchiveState, FoundArchive, Source, SourcesReport
from turnetl.agent_sources.locations import agent_locations
from turnetl.agent_sources.sources_report import Retention
from turnetl.views import sources as view

NOW = datetime.now(UTC)  # noqa: TID251 - the command reads the clock
OLD = NOW - timedelta(days=29)


def test_a_machine_without_agents_is_told_where_they_were_looked_for(tmp_path: Path) -> None:
    result = run_in_process("sources", folder=tmp_path)
    assert result.exit_code == 0
    assert "no agent keeps archives in its usual folder" in result.stdout
    assert re.search(r"Codex CLI +. ~/\.codex ", result.stdout)


def test_what_is_new_and_what_is_deleted_soon_is_printed(tmp_path: Path) -> None:
    transcript(tmp_path / ".claude", "old", changed=OLD)
    transcript(tmp_path / ".claude", "new", changed=NOW)
    result = run_in_process("sources", folder=tmp_path)
    assert result.exit_code == 0, result.stderr
    assert "2 archives to read, 4 turns\n" in result.stdout
    assert "Claude Code deletes 1 archive within 7 days, 1 of which the lake lacks" in result.stdout
    assert "~/.claude/projects/-home-dev-shop/old.jsonl  (not in the lake)" in result.stdout
    assert "new.jsonl" not in result.stdout


def test_the_json_has_every_archive_with_its_state_and_its_end(tmp_path: Path) -> None:
    path = transcript(tmp_path / ".claude", "old", changed=OLD)
    result = run_in_process("sources", "--json", folder=tmp_path)
    claude = result.json["sources"][0]
    assert claude["exists"]
    assert (claude["new_archives"], claude["new_turns"], claude["kept_days"]) == (1, 2, 30)
    assert claude["paths"] == [str(tmp_path / ".claude" / "projects")]
    (archive,) = claude["archives"]
    assert archive["path"] == str(path)
    assert archive["state"] == "new"
    assert archive["deleted_at"].startswith(f"{OLD + timedelta(days=30):%Y-%m-%dT%H:%M}")


def test_after_a_parse_of_what_was_found_nothing_is_new(tmp_path: Path) -> None:
    transcript(tmp_path / ".claude")
    paths = run_in_process("sources", "--json", folder=tmp_path).json["sources"][0]["paths"]
    assert run_in_process("parse", *paths, folder=tmp_path).exit_code == 0
    result = run_in_process("sources", folder=tmp_path)
    assert "the lake holds all of these archives as they are now" in result.stdout


def test_it_writes_nothing(tmp_path: Path) -> None:
    transcript(tmp_path / ".claude")
    before = sorted(tmp_path.rglob("*"))
    run_in_process("sources", folder=tmp_path)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_variable_that_names_no_folder_is_a_message(tmp_path: Path) -> None:
    missing = str(tmp_path / "nowhere")
    result = run_in_process("sources", folder=tmp_path, CODEX_HOME=missing)
    assert result.exit_code == 0
    assert result.messages == [f"turnetl: `CODEX_HOME` names `{missing}`, which does not exist"]


def test_a_variable_that_names_a_file_is_a_message_and_nothing_is_said_to_be_in_the_lake(
    tmp_path: Path,
) -> None:
    file = tmp_path / "notes"
    file.touch()
    result = run_in_process("sources", folder=tmp_path, CLAUDE_CONFIG_DIR=str(file))
    assert result.exit_code == 0
    expected = f"turnetl: `{file}` is no folder: an agent keeps its archives in one"
    assert result.messages == [expected]
    assert "no archives found" in result.stdout
    assert "the lake holds" not in result.stdout


def test_a_lake_that_is_a_file_is_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "lake").write_text("")
    result = run_in_process("sources", "--lake", "lake", folder=tmp_path)
    assert result.exit_code == 2
    assert "`lake`" in result.messages[0] or str(tmp_path / "lake") in result.messages[0]


@pytest.mark.full
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_backfill_without_archives_and_terminal_names_the_command_that_reads_those_of_agents(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    transcript(tmp_path / ".claude")
    result = run_in_process("backfill", *options, "--lake", "the lake", folder=tmp_path)
    assert result.exit_code == 2
    assert not (tmp_path / "the lake").exists()
    (message,) = result.messages
    assert "which reads 1 archive" in message
    assert_reads_everything(message.split("`")[-2], tmp_path)


def test_a_backfill_without_archives_on_a_machine_without_agents_says_so(tmp_path: Path) -> None:
    result = run_in_process("backfill", folder=tmp_path)
    assert result.exit_code == 2
    assert "no agent keeps archives in its usual folder: name ARCHIVES" in result.messages[0]


@pytest.mark.full
def test_the_command_that_the_sources_end_with_reads_them(tmp_path: Path) -> None:
    transcript(tmp_path / ".claude")
    result = run_in_process("sources", "--lake", "the lake", folder=tmp_path)
    assert_reads_everything(result.stdout.splitlines()[-1], tmp_path)


def assert_reads_everything(command: str, folder: Path) -> None:
    arguments = shlex.split(command)
    arguments = arguments[arguments.index("backfill") :]
    assert run_in_process(*arguments, folder=folder).exit_code == 0
    left = run_in_process("sources", "--lake", "the lake", folder=folder)
    assert "the lake holds all of these archives as they are now" in left.stdout


@pytest.mark.full
@pytest.mark.parametrize("answer", ["y", "yes", "Y"])
def test_on_a_terminal_it_proposes_the_archives_and_reads_them(answer: str, tmp_path: Path) -> None:
    transcript(tmp_path / ".claude")
    output, code = answered("backfill", folder=tmp_path, typed=f"{answer}\n")
    assert code == 0, output
    assert "Read 1 archive of Claude Code? [y/N]" in output
    assert list((tmp_path / ".turnetl/lake/turns").rglob("*.parquet"))


@pytest.mark.full
@pytest.mark.parametrize("answer", ["", "n", "no", "all"])
def test_without_a_yes_nothing_is_read(answer: str, tmp_path: Path) -> None:
    transcript(tmp_path / ".claude")
    output, code = answered("backfill", folder=tmp_path, typed=f"{answer}\n")
    assert code == 0, output
    assert "nothing was read" in output
    assert not (tmp_path / ".turnetl").exists()


@pytest.mark.full
def test_without_new_archives_it_asks_nothing(tmp_path: Path) -> None:
    output, code = answered("backfill", folder=tmp_path, typed="y\n")
    assert code == 2
    assert "no agent keeps archives in its usual folder" in output
    assert "[y/N]" not in output


@pytest.mark.full
def test_with_yes_nobody_is_asked_and_a_repetition_reads_what_is_new(tmp_path: Path) -> None:
    transcript(tmp_path / ".claude", "first")
    first = run_in_process("backfill", "--yes", folder=tmp_path)
    assert (first.exit_code, "1 archive: 1 new" in first.stdout) == (0, True)
    again = run_in_process("backfill", "--yes", "--json", folder=tmp_path)
    assert (again.exit_code, again.json["parsed"]["read"]["lines"]) == (0, 0)
    transcript(tmp_path / ".claude", "second")
    assert "1 new, 1 unchanged" in run_in_process("backfill", "--yes", folder=tmp_path).stdout


def test_yes_is_no_answer_to_a_question_about_named_archives(tmp_path: Path) -> None:
    result = run_in_process("backfill", "a.jsonl", "--yes", folder=tmp_path)
    assert result.exit_code == 2
    assert "`--yes` is for a backfill without ARCHIVES" in result.messages[0]


@pytest.mark.full
def test_ctrl_c_at_the_question_says_that_nothing_was_done(tmp_path: Path) -> None:
    transcript(tmp_path / ".claude")
    output, code = interrupted("backfill", folder=tmp_path, at="[y/N]")
    assert code == 130
    assert "stopped at the question: nothing was done" in output
    assert not (tmp_path / ".turnetl").exists()


def test_a_folder_that_cannot_be_read_is_named_and_the_others_are_proposed(tmp_path: Path) -> None:
    transcript(tmp_path / ".claude")
    (tmp_path / ".codex").write_text("not a folder")
    result = run_in_process("backfill", folder=tmp_path)
    assert result.exit_code == 2
    assert f"`{tmp_path / '.codex'}` is no folder" in result.stderr
    assert "Claude Code" in result.stderr


def test_the_proposal_has_a_line_per_agent() -> None:
    (first,) = report(archive(1, 3), archive(2, 4)).sources
    text = printed(view.proposal(SourcesReport((first, first), NOW)))
    (row,) = [line for line in text.splitlines() if "Claude Code" in line]
    assert re.split(r"  +", row.strip()) == ["Claude Code", "4", "4", "-", "0 kB"]
    assert max(map(len, text.splitlines())) <= 80


def report(*archives: FoundArchive) -> SourcesReport:
    source = Source(
        agent="Claude Code",
        folder=Path("/home/dev/.claude"),
        variable=None,
        exists=True,
        paths=("/home/dev/.claude/projects",),
        archives=archives,
        retention=Retention(timedelta(days=30)),
        retention_hint="`cleanupPeriodDays`",
    )
    return SourcesReport((source,), NOW)


def archive(number: int, turns: int | None) -> FoundArchive:
    path = Path(f"/home/dev/.claude/projects/{number}.jsonl")
    return FoundArchive(path, ArchiveState.NEW, 100, turns, None)


def test_at_80_columns_no_folder_is_broken_and_several_have_a_sum() -> None:
    (first,) = report(archive(1, 3)).sources
    second = replace(
        first,
        agent="OpenCode",
        folder=Path("/home/dev/.local/share/opencode"),
        archives=tuple(archive(number, 1_000) for number in range(1_200)),
    )
    text = printed(view.view(SourcesReport((first, second), NOW), Path("/home/dev")))
    assert "~/.local/share/opencode" in text
    assert re.search(r"all +. +1,201 . +1,201 . +0 . +1,200,003 ", text)


def test_at_80_columns_the_missing_agents_are_named_in_few_lines() -> None:
    (first,) = report(archive(1, 3)).sources
    missing = [
        replace(first, agent=one.agent, folder=one.folder, exists=False, archives=())
        for one in agent_locations(machine(Path("/home/dev")))
    ]
    text = printed(view.view(SourcesReport((first, *missing), NOW), Path("/home/dev")))
    names = text.partition("\nnot found: ")[2].splitlines()
    assert "Codex CLI, Gemini CLI" in names[0]
    assert len(names) <= 5


def test_transcripts_of_subagents_and_histories_of_prompts_are_no_sessions() -> None:
    (source,) = report(archive(1, 3), archive(2, 3)).sources
    folder = Path("/home/dev/.claude")
    others = [
        folder / "projects/s/subagents/agent-1.jsonl",
        folder / "history.jsonl/project-1a2b3c4d",
    ]
    archives = (*source.archives, *(replace(archive(1, 0), path=path) for path in others))
    assert (len(archives), replace(source, archives=archives).sessions) == (4, 2)


def test_the_turns_of_all_archives_are_unknown_if_those_of_one_are() -> None:
    assert report(archive(1, 3), archive(2, None)).sources[0].new_turns is None
    assert report(archive(1, 3), archive(2, 4)).sources[0].new_turns == 7


def test_the_question_says_how_much_is_read() -> None:
    assert view.question(report(archive(1, 3), archive(2, 4))) == "Read 2 archives of Claude Code?"
