"""Prompts of which only Claude Code's `history.jsonl` is left."""

import json
from datetime import datetime
from pathlib import Path

import pytest

from tests.cli.archives import conversation, write_archive
from tests.cli.command import run_in_process
from tests.cli.provider_setup import SESSION_START
from turnetl.base.model import GroupId
from turnetl.lake import Lake

SHOP = "Add a cart to the shop, with a basket, a voucher and tests for both"
LOGO = "Draw a logo in two colours, as a vector graphic with a transparent ground"


def typed(text: str, project: str, at: datetime = SESSION_START, session: str = "s1") -> str:
    row = {"display": text, "pastedContents": {}, "timestamp": int(at.timestamp() * 1000)}
    return json.dumps(row | {"project": project, "sessionId": session})


@pytest.fixture
def history(tmp_path: Path) -> Path:
    rows = [typed(SHOP, "/home/dev/shop"), typed(LOGO, "/home/dev/logo", session="s2")]
    return write_archive(tmp_path / ".claude" / "history.jsonl", rows)


def episodes(home: Path, group: str) -> list[tuple[str, str, int]]:
    table = Lake(home / ".turnetl" / "lake").scan_episodes(GroupId(group)).collect()
    return table.select("format", "user_text", "copies").rows()


@pytest.mark.full
@pytest.mark.usefixtures("history")
def test_each_prompt_is_in_the_group_of_its_project(tmp_path: Path) -> None:
    result = run_in_process("backfill", ".claude", "--json", folder=tmp_path)
    assert result.exit_code == 0, result.stderr
    assert result.json["parsed"]["read"]["turns"] == 2
    assert episodes(tmp_path, "shop") == [("claude_history", SHOP, 0)]
    assert episodes(tmp_path, "logo") == [("claude_history", LOGO, 0)]


@pytest.mark.full
@pytest.mark.usefixtures("history")
def test_a_second_run_reads_nothing_and_adds_nothing(tmp_path: Path) -> None:
    run_in_process("backfill", ".claude", folder=tmp_path)
    again = run_in_process("backfill", ".claude", "--json", folder=tmp_path).json
    assert again["parsed"]["archives"]["unchanged"] == 2
    assert again["committed"] == 0


@pytest.mark.full
def test_a_prompt_is_shown_by_the_line_of_the_history(history: Path, tmp_path: Path) -> None:
    run_in_process("backfill", ".claude", folder=tmp_path)
    for name in ("history.jsonl", ".claude/history.jsonl", str(history)):
        for line, prompt in ((1, SHOP), (2, LOGO)):
            shown = run_in_process("show", f"{name}:{line}", "--json", folder=tmp_path)
            assert shown.exit_code == 0, shown.stderr
            assert shown.json["turn"]["prompt"] == prompt
    assert run_in_process("show", "history.jsonl:3", folder=tmp_path).exit_code == 2
    assert run_in_process("show", "story.jsonl:1", folder=tmp_path).exit_code == 2


@pytest.mark.full
@pytest.mark.usefixtures("history")
def test_a_transcript_that_arrives_later_replaces_the_prompt(tmp_path: Path) -> None:
    run_in_process("backfill", ".claude", folder=tmp_path)
    write_archive(tmp_path / "s1.jsonl", conversation(SHOP, session="s1", at=SESSION_START))
    result = run_in_process("backfill", "s1.jsonl", "--json", folder=tmp_path)
    assert result.exit_code == 0, result.stderr
    assert episodes(tmp_path, "shop") == [("claude_code", SHOP, 1)]


@pytest.mark.full
@pytest.mark.usefixtures("history")
def test_a_prompt_ingested_before_its_transcript_is_named_with_the_command_that_removes_it(
    tmp_path: Path,
) -> None:
    run_in_process("backfill", ".claude", folder=tmp_path)
    rows = conversation(SHOP, "Add a voucher, please", session="s1", at=SESSION_START)
    write_archive(tmp_path / "s1.jsonl", rows)
    result = run_in_process("backfill", "s1.jsonl", "--json", folder=tmp_path)
    [group] = [one for one in result.json["groups"] if one["group"] == "shop"]
    [prompt] = group["superseded_prompts"]
    command = f"turnetl undo --turn {prompt} --cascade"
    assert f"`{command}` removes it" in result.stderr
    status = run_in_process("status", "--verbose", folder=tmp_path)
    assert f"`{command}` removes it" in status.stderr
    done = run_in_process(*command.split()[1:], "--yes", folder=tmp_path)
    assert done.exit_code == 0, done.stderr
    after = run_in_process("status", "--json", folder=tmp_path).json
    assert [one["superseded_prompts"] for one in after["groups"]] == [[], []]
    again = run_in_process("backfill", ".claude", "s1.jsonl", "--json", folder=tmp_path)
    assert (again.json["committed"], "undo --turn" in again.stderr) == (0, False)
    assert run_in_process("timeline", "--json", folder=tmp_path).json["count"] == 3


@pytest.mark.full
def test_a_prompt_outlives_its_transcript_and_the_history(history: Path, tmp_path: Path) -> None:
    run_in_process("backfill", ".claude", folder=tmp_path)
    history.unlink()
    result = run_in_process("filter", folder=tmp_path)
    assert result.exit_code == 0, result.stderr
    assert episodes(tmp_path, "shop") == [("claude_history", SHOP, 0)]
    status = run_in_process("status", "--json", folder=tmp_path).json
    missing = [path for group in status["groups"] for path in group["missing_archives"]]
    assert len(missing) == 2


@pytest.mark.full
@pytest.mark.usefixtures("history")
def test_while_the_history_exists_no_archive_is_missing(tmp_path: Path) -> None:
    run_in_process("backfill", ".claude", folder=tmp_path)
    status = run_in_process("status", "--json", folder=tmp_path).json
    assert all(group["missing_archives"] == [] for group in status["groups"])


@pytest.mark.full
@pytest.mark.usefixtures("history")
def test_a_turn_leads_back_to_its_line(tmp_path: Path) -> None:
    run_in_process("backfill", ".claude", folder=tmp_path)
    table = Lake(tmp_path / ".turnetl" / "lake").scan_episodes(GroupId("logo")).collect()
    assert table["first_line"].to_list() == [2]
    lines = run_in_process("show", table["turn_id"][0], "--raw", "--json", folder=tmp_path).json
    assert [json.loads(line)["display"] for line in lines["lines"]] == [LOGO]


def test_the_history_is_among_the_sources_and_is_not_deleted(history: Path, tmp_path: Path) -> None:
    claude = run_in_process("sources", "--json", folder=tmp_path).json["sources"][0]
    assert claude["new_turns"] == 2
    assert [archive["deleted_at"] for archive in claude["archives"]] == [None, None]
    assert claude["paths"] == [str(history)]


@pytest.mark.full
@pytest.mark.usefixtures("history")
def test_with_personal_data_redacted_the_archive_is_found_too(tmp_path: Path) -> None:
    run_in_process("backfill", ".claude", "--redact-pii", folder=tmp_path)
    result = run_in_process("status", "--json", folder=tmp_path, TURNETL_REDACT_PII="true")
    assert all(group["missing_archives"] == [] for group in result.json["groups"])
