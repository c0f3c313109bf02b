"""The archives of agents in made-up home folders, compared with a lake."""

import json
import os
import shutil
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from tests.agent_databases import cursor, hermes, opencode, zed
from tests.agent_sources.homes import NOW, machine, touched, transcript
from tests.cli.archives import conversation, write_archive
from tests.fakes.redactors import NoRedactor
from turnetl.agent_sources import ArchiveState, Source, SourcesReport, find_sources
from turnetl.agent_sources.locations import agent_locations
from turnetl.base.reason import SkipReason
from turnetl.lake import Lake
from turnetl.parsing import parse_archives

ARCHIVES = Path(__file__).parents[1] / "archives"
DAY = timedelta(days=1)
VS_CODE = ".config/Code/User/globalStorage"
COWORK = ".config/Claude/local-agent-mode-sessions/1/2"
LOGS = "brain/1/.system_generated/logs"
HISTORY = "api_conversation_history.json"


def found(home: Path, lake: Path | None = None, **environment: str) -> SourcesReport:
    folder = lake or home / "lake"
    return find_sources(machine(home, **environment), Lake(folder), NOW)


def source(report: SourcesReport, agent: str = "Claude Code") -> Source:
    return next(one for one in report.sources if one.agent == agent)


def parse(home: Path, *paths: Path) -> None:
    parse_archives(paths, Lake(home / "lake"), redactor=NoRedactor())


def states(report: SourcesReport, agent: str = "Claude Code") -> dict[str, str]:
    return {one.path.name: one.state for one in source(report, agent).archives}


def test_a_home_without_agents_has_no_sources(tmp_path: Path) -> None:
    report = found(tmp_path)
    assert report.found == ()
    assert report.pending == ()
    assert not any(one.problems for one in report.sources)
    assert not (tmp_path / "lake").exists()


def test_the_archives_of_every_agent_are_found(tmp_path: Path) -> None:
    transcript(tmp_path / ".claude")
    write = {
        ".codex/sessions/2026/06/01/rollout-1.jsonl": "codex/items.jsonl",
        ".codex/archived_sessions/rollout-2.jsonl": "codex/old.jsonl",
        ".gemini/tmp/0123abc/chats/session-1.json": "gemini_json/session.json",
        ".local/share/opencode/storage/session/p/ses_1.json": "opencode/export.json",
        ".copilot/session-state/0a/events.jsonl": "copilot/tools.jsonl",
        ".config/Code/User/workspaceStorage/1a/chatSessions/1.json": "copilot_chat/session.json",
        ".config/Code - Insiders/User/workspaceStorage/1a/chatSessions/2.jsonl": (
            "copilot_chat/log.jsonl"
        ),
        f"{VS_CODE}/emptyWindowChatSessions/3.jsonl": "copilot_chat/log.jsonl",
        f"{COWORK}/local_1/audit.jsonl": "claude_code/cowork_audit.jsonl",
        f"{COWORK}/local_2/.claude/projects/-sessions-x/1.jsonl": "claude_code/prompts.jsonl",
        ".pi/agent/sessions/--home-dev-shop--/1.jsonl": "pi/tools.jsonl",
        ".openclaw/agents/main/sessions/1.jsonl": "pi/openclaw.jsonl",
        ".omp/agent/sessions/--home-dev-shop--/1.jsonl": "pi/tools.jsonl",
        ".factory/sessions/-home-dev-shop/1.jsonl": "pi/droid.jsonl",
        ".cursor/projects/home-dev-shop/agent-transcripts/1/1.jsonl": "cursor/tools.jsonl",
        ".qwen/projects/-home-dev-shop/chats/1.jsonl": "qwen/tools.jsonl",
        ".kiro/sessions/cli/1.jsonl": "kiro/tools.jsonl",
        ".cline/data/sessions/1/1.messages.json": "cline/session.json",
        f".gemini/antigravity-cli/{LOGS}/transcript_full.jsonl": "antigravity/tools.jsonl",
        f".gemini/antigravity/{LOGS}/transcript.jsonl": "antigravity/short.jsonl",
        ".kimi-code/sessions/wd_shop_1/2/agents/main/wire.jsonl": "kimi/tools.jsonl",
        ".continue/sessions/4c000000-1.json": "continue/session.json",
        ".windsurf/transcripts/1.jsonl": "windsurf/tools.jsonl",
        ".grok/sessions/%2Fshop/1/updates.jsonl": "grok/tools.jsonl",
        ".dsh/sessions/--shop--/session-1/session.jsonl": "deepseek/session.jsonl",
        ".local/share/amp/threads/T-1.json": "amp/thread.json",
        ".local/share/devin/cli/transcripts/kind-shelf.json": "atif/trajectory.json",
        ".local/share/goose/sessions/1.jsonl": "goose/tools.jsonl",
        f"{VS_CODE}/rooveterinaryinc.roo-cline/tasks/1/{HISTORY}": "cline/roo.json",
        f".vscode-server/data/User/globalStorage/rooveterinaryinc.roo-cline/tasks/1/{HISTORY}": (
            "cline/roo.json"
        ),
    }
    beside = (
        # Its prompts are of all projects: who wants them names the file, and a group.
        ".codex/history.jsonl",
        ".gemini/tmp/0123abc/logs.json",
        ".copilot/session-state/0a/files/data.json",
        ".openclaw/agents/main/sessions/sessions.json",
        ".factory/sessions/-home-dev-shop/1.settings.json",
        ".cursor/projects/home-dev-shop/agent-transcripts/1/subagents/2.jsonl",
        ".kiro/sessions/cli/1.json",
        f"{COWORK}/local_2/audit.jsonl",
        f"{COWORK}/local_2.json",
        ".cline/data/sessions/1/1.json",
        ".kimi-code/sessions/wd_shop_1/2/state.json",
        ".kimi-code/sessions/wd_shop_1/2/agents/agent-1/wire.jsonl",
        ".continue/sessions/sessions.json",
        ".grok/sessions/%2Fshop/1/summary.json",
        f"{VS_CODE}/rooveterinaryinc.roo-cline/tasks/1/ui_messages.json",
    )
    for target, sample in write.items():
        path = tmp_path / target
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ARCHIVES / sample, path)
    for other in beside:
        path = tmp_path / other
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("[]")
    databases = {
        ".local/share/kilo/kilo.db": opencode,
        ".config/Cursor/User/globalStorage/state.vscdb": cursor,
        ".local/share/zed/threads/threads.db": zed,
        ".hermes/state.db": hermes,
    }
    for target, make in databases.items():
        make(tmp_path / target)
    report = found(tmp_path)
    numbers = Counter(one.agent for one in report.found for _ in one.archives)
    agents = {location.agent for location in agent_locations(machine(tmp_path))}
    several = {"Codex CLI": 2, "Copilot Chat": 3, "Claude Cowork": 2, "Roo Code": 2}
    assert numbers == dict.fromkeys(agents, 1) | several
    assert {one.state for source in report.found for one in source.archives} == {ArchiveState.NEW}
    assert {str(Path(path).relative_to(tmp_path)) for path in report.paths} >= {
        ".claude/projects",
        ".codex/sessions",
        ".codex/archived_sessions",
    }


def test_the_archive_of_a_subagent_is_no_session_before_and_after_it_was_parsed(
    tmp_path: Path,
) -> None:
    sessions = tmp_path / ".codex" / "sessions"
    sessions.mkdir(parents=True)
    for name in ("items", "subagent"):
        shutil.copy(ARCHIVES / "codex" / f"{name}.jsonl", sessions / f"rollout-{name}.jsonl")
    codex = source(found(tmp_path), "Codex CLI")
    assert (len(codex.archives), codex.sessions) == (2, 1)
    parse(tmp_path, *sessions.iterdir())
    assert source(found(tmp_path), "Codex CLI").sessions == 1


def test_turns_of_new_archives_are_counted(tmp_path: Path) -> None:
    transcript(tmp_path / ".claude", "s1")
    transcript(tmp_path / ".claude", "s2")
    claude = source(found(tmp_path))
    assert claude.new_turns == 4
    assert [one.state for one in claude.archives] == [ArchiveState.NEW] * 2


def test_an_archive_of_the_lake_is_not_new_and_a_longer_one_has_only_its_new_turns(
    tmp_path: Path,
) -> None:
    parsed = transcript(tmp_path / ".claude", "s1")
    grown = transcript(tmp_path / ".claude", "s2")
    parse(tmp_path, parsed, grown)
    assert states(found(tmp_path)) == {"s1.jsonl": "unchanged", "s2.jsonl": "unchanged"}
    rows = conversation("Add a cart", "Write tests", "Ship it", session="s2", at=NOW)
    write_archive(grown, rows)
    report = found(tmp_path)
    assert states(report) == {"s1.jsonl": "unchanged", "s2.jsonl": "changed"}
    assert source(report).new_turns == 1
    assert report.paths == (str(tmp_path / ".claude" / "projects"),)


def test_a_file_of_an_unknown_format_is_neither_new_nor_read_again(tmp_path: Path) -> None:
    path = transcript(tmp_path / ".claude")
    (path.parent / "notes.json").write_text('{"version": 1}')
    report = found(tmp_path)
    assert states(report)["notes.json"] == ArchiveState.UNKNOWN_FORMAT
    assert [one.path for one in source(report).pending] == [path]


def test_beyond_the_limit_turns_are_not_counted_but_formats_are_known(tmp_path: Path) -> None:
    path = transcript(tmp_path / ".claude", "s1")
    (path.parent / "notes.json").write_text('{"version": 1}')
    report = find_sources(machine(tmp_path), Lake(tmp_path / "lake"), NOW, counted_bytes=0)
    assert source(report).new_turns is None
    assert states(report) == {"s1.jsonl": "new", "notes.json": "unknown_format"}


def test_claude_code_deletes_an_archive_thirty_days_after_its_last_change(tmp_path: Path) -> None:
    transcript(tmp_path / ".claude", "old", changed=NOW - 40 * DAY)
    transcript(tmp_path / ".claude", "due", changed=NOW - 28 * DAY)
    transcript(tmp_path / ".claude", "new", changed=NOW)
    claude = source(found(tmp_path))
    times = {one.path.stem: one.deleted_at for one in claude.archives}
    assert times == {"old": NOW - 10 * DAY, "due": NOW + 2 * DAY, "new": NOW + 30 * DAY}
    soon = claude.deleted_before(NOW + 7 * DAY)
    assert [one.path.stem for one in soon] == ["old", "due"]


@pytest.mark.parametrize(("days", "left"), [(1, 1), (7, 7), (0, 0), (0.5, 0.5), (36500, 36500)])
def test_the_setting_of_claude_code_decides(tmp_path: Path, days: float, left: float) -> None:
    transcript(tmp_path / ".claude")
    settings = tmp_path / ".claude" / "settings.json"
    settings.write_text(json.dumps({"cleanupPeriodDays": days}))
    claude = source(found(tmp_path))
    assert claude.archives[0].deleted_at == NOW + left * DAY
    assert claude.retention.setting == settings


def test_a_period_that_no_calendar_has_deletes_nothing(tmp_path: Path) -> None:
    transcript(tmp_path / ".claude")
    settings = tmp_path / ".claude" / "settings.json"
    settings.write_text('{"cleanupPeriodDays": 1000000}')
    assert source(found(tmp_path)).archives[0].deleted_at == NOW + 1_000_000 * DAY
    settings.write_text('{"cleanupPeriodDays": 1e308}')
    assert source(found(tmp_path)).problems


@pytest.mark.parametrize(
    "content",
    [
        *("", "{", "[]", "null", "\0", '{"cleanupPeriodDays": "30"}', '{"cleanupPeriodDays": -1}'),
        *('{"cleanupPeriodDays": true}', '{"cleanupPeriodDays": NaN}', "[" * 100_000),
    ],
)
def test_settings_that_cannot_be_used_are_named_and_the_default_is_assumed(
    tmp_path: Path, content: str
) -> None:
    transcript(tmp_path / ".claude")
    settings = tmp_path / ".claude" / "settings.json"
    settings.write_text(content)
    claude = source(found(tmp_path))
    (problem,) = claude.problems
    assert str(settings) in problem
    assert "30 days" in problem
    assert claude.archives[0].deleted_at == NOW + 30 * DAY


def test_settings_without_a_period_leave_the_default(tmp_path: Path) -> None:
    transcript(tmp_path / ".claude")
    (tmp_path / ".claude" / "settings.json").write_text('{"model": "opus"}')
    claude = source(found(tmp_path))
    assert claude.problems == ()
    assert claude.archives[0].deleted_at == NOW + 30 * DAY


@pytest.mark.parametrize(
    ("retention", "days"),
    [
        ({"maxAge": "7d"}, 7),
        ({"maxAge": "24h"}, 1),
        ({"maxAge": "2w", "enabled": True}, 14),
        ({"enabled": False, "maxAge": "7d"}, None),
        ({}, 30),
        (None, 30),
    ],
)
def test_the_setting_of_gemini_cli_decides(
    tmp_path: Path, retention: object, days: int | None
) -> None:
    chat = tmp_path / ".gemini/tmp/0123abc/chats/session-1.json"
    chat.parent.mkdir(parents=True)
    shutil.copy(min((ARCHIVES / "gemini_json").iterdir()), chat)
    touched(chat, NOW)
    settings = tmp_path / ".gemini" / "settings.json"
    settings.write_text(json.dumps({"general": {"sessionRetention": retention}}))
    (archive,) = source(found(tmp_path), "Gemini CLI").archives
    assert archive.deleted_at == (None if days is None else NOW + days * DAY)


def test_codex_deletes_nothing(tmp_path: Path) -> None:
    path = tmp_path / ".codex/sessions/a.jsonl"
    path.parent.mkdir(parents=True)
    shutil.copy(min((ARCHIVES / "codex").iterdir()), path)
    assert [one.deleted_at for one in source(found(tmp_path), "Codex CLI").archives] == [None]


def test_a_variable_that_names_a_missing_folder_has_no_archives(tmp_path: Path) -> None:
    report = found(tmp_path, CODEX_HOME=str(tmp_path / "nowhere"))
    codex = source(report, "Codex CLI")
    assert (codex.exists, codex.variable) == (False, "CODEX_HOME")


def test_a_folder_that_is_a_file_does_not_exist(tmp_path: Path) -> None:
    (tmp_path / ".claude").write_text("")
    claude = source(found(tmp_path))
    assert claude.archives == ()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads all")
def test_an_unreadable_folder_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    path = transcript(tmp_path / ".claude")
    closed = tmp_path / ".claude" / "projects" / "-home-dev-other"
    closed.mkdir()
    closed.chmod(0)
    try:
        claude = source(found(tmp_path))
    finally:
        closed.chmod(0o700)
    assert [one.path for one in claude.archives] == [path]
    assert any(str(closed) in problem for problem in claude.problems)


def test_a_folder_that_cannot_be_examined_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    (tmp_path / ".codex").symlink_to(tmp_path / ".codex")
    path = transcript(tmp_path / ".claude")
    report = found(tmp_path)
    (problem,) = source(report, "Codex CLI").problems
    assert str(tmp_path / ".codex") in problem
    assert "cannot be read" in problem
    assert [one.path for one in source(report).pending] == [path]


def test_an_archive_that_cannot_be_opened_is_unreadable(tmp_path: Path) -> None:
    path = transcript(tmp_path / ".claude")
    (path.parent / "loop.jsonl").symlink_to(path.parent / "loop.jsonl")
    (path.parent / "torn.jsonl.gz").write_bytes(b"\x1f\x8b\x08\x00")
    report = found(tmp_path)
    assert states(report) == {"s1.jsonl": "new", "torn.jsonl.gz": "unreadable"}
    assert any("loop.jsonl" in problem for problem in source(report).problems)


def test_files_beside_the_archives_are_counted_by_reason(tmp_path: Path) -> None:
    folder = transcript(tmp_path / ".claude").parent
    for name in ("notes.txt", "old.jsonl.bak"):
        (folder / name).touch()
    report = found(tmp_path)
    assert source(report).other_files == {SkipReason.OTHER_FILE: 1, SkipReason.RENAMED: 1}
    assert report.other_files == source(report).other_files
    assert not source(report).problems


def test_a_damaged_database_of_opencode_is_named(tmp_path: Path) -> None:
    folder = tmp_path / ".local/share/opencode"
    folder.mkdir(parents=True)
    (folder / "opencode.db").write_bytes(b"SQLite format 3\0" + bytes(100))
    (problem,) = source(found(tmp_path), "OpenCode").problems
    assert "damaged database" in problem
