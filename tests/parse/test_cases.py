"""Small inputs with one difficulty each, beside the archives of real projects, give what is right.

A case is a folder that is parsed as a user would: searched, parsed, and built into episodes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests import real_archives
from tests.fakes.redactors import NoRedactor
from turnetl import parsing
from turnetl.episodes import build
from turnetl.lake import Lake
from turnetl.parsing.expand import expand

Parsed = tuple[parsing.ParseReport, pl.DataFrame]
"""The report on a case, and its episodes in the order of sessions and ordinals."""


@dataclass(frozen=True)
class RightValues:
    """What is right for one folder."""

    prompts: tuple[str, ...] | None = ()
    """The prompts, sorted; None: only what else is given counts."""
    steering: tuple[str, ...] = ()
    copies: int = 0
    columns: Mapping[str, list[Any]] = field(default_factory=dict)
    """Columns of the episodes, in the order of the prompts."""
    reasons: frozenset[str] = frozenset()
    """Reasons that problems must name."""
    words: tuple[str, ...] = ()
    """Words that messages of problems must hold."""
    holds: Callable[[Parsed], bool] = lambda _: True
    """Anything else."""


def case(*prompts: str, reasons: str = "", **values: Any) -> RightValues:
    fields = {
        name: values.pop(name) for name in list(values) if name in RightValues.__annotations__
    }
    given: dict[str, Any] = {"prompts": prompts, "reasons": frozenset(reasons.split())} | fields
    return RightValues(**given, columns=values)


def unread(parsed: Parsed) -> bool:
    return not any(archive.was_read for archive in parsed[0].archives)


def one_turn_or_unread(parsed: Parsed) -> bool:
    return unread(parsed) or parsed[1].height == 1


def results(*texts: str) -> Callable[[Parsed], bool]:
    """Return a check that the results of tools hold texts."""
    return lambda parsed: all(text in _results(parsed[1]) for text in texts)


def calls(*errors: bool) -> Callable[[Parsed], bool]:
    """Return a check that the calls are as many, with and without errors in this order."""
    return lambda parsed: tuple(call["is_error"] for call in _calls(parsed[1])) == errors


def lines_as_sidechain(lines: int) -> Callable[[Parsed], bool]:
    return lambda parsed: parsed[0].read.sidechain_rows == lines


CASES = {
    "anthropic-messages": case(
        "<task>\nAdd a price column\n</task>",
        steering=("<user_message>\nalso update the docs\n</user_message>",),
        holds=calls(False, True),
    ),
    "chat-exports": case("How do I use polars?", "How do I use polars?"),
    "claude-agent-notification": case("Scan all files with agents"),
    "claude-aux-only": case(holds=lambda parsed: not _problems(parsed[0])),
    "claude-clock-jump": case(
        "After the jump",
        "Before the clock jump",
        holds=lambda parsed: parsed[1].filter(pl.col("ended_at") < pl.col("started_at")).is_empty(),
    ),
    "claude-compaction-replay": case("Long work", output_tokens=[10]),
    "claude-continued-in": case("Go on in the background", "Start the work", copies=1),
    "claude-cowork-audit": case(prompts=None, holds=one_turn_or_unread),
    "claude-desktop-echo": case("Echoed prompt", assistant_text=["One answer."]),
    # The copies differ in a dash: Latin-1 has no other one.
    "claude-encodings": case(
        prompts=None,
        holds=lambda parsed: (
            parsed[0].read.turns == 4
            and parsed[1]["user_text"].item().startswith("Prüfe die Größe ")
            and not _problems(parsed[0])
        ),
    ),
    "claude-fork-pointer": case("Question in the fork", "Start the work"),
    "claude-image-only": case("[document]", "[image]"),
    "claude-new-record-types": case(
        "Do it", holds=lambda parsed: parsed[0].read.invalid_lines == 0
    ),
    "claude-persisted-output": case(
        "Run the big query", holds=lambda parsed: not _problems(parsed[0])
    ),
    "claude-phantom-sessions": case(
        prompts=None,
        holds=lambda parsed: sorted(map(str, parsed[1]["noise"])) == ["None", "harness", "warm_up"],
    ),
    "claude-queued-command": case(
        "Refactor the parser", steering=("use tabs please", "and this screenshot")
    ),
    "claude-sdk-fork-remapped": case("Now the fork goes its own way", "Start the work", copies=1),
    "claude-stream-json-duplicates": case(
        "And its population?", "Capital of France?", output_tokens=[5, 5]
    ),
    "claude-stream-json-duplicates-new-uuid": case(
        prompts=None,
        holds=lambda parsed: (
            parsed[1]["noise"].null_count() == 2 and parsed[1]["output_tokens"].sum() == 10
        ),
    ),
    "claude-subagents": case("Explore the code", holds=lines_as_sidechain(4)),
    "claude-surrogates": case(
        prompts=None,
        holds=lambda parsed: (
            parsed[1].height == 1
            and "line sep" in parsed[1]["user_text"].item()
            and "out ?" in _results(parsed[1])
        ),
    ),
    "claude-task-json-in-queue": case(
        "Implement the plan", steering=("please commit each step on its own",)
    ),
    "claude-time-forms": case(
        *(f"Time form {number}" for number in range(9)),
        holds=lambda parsed: parsed[1]["started_at"].null_count() <= 4,
    ),
    "claude-truncated-splice": case(
        "First prompt",
        "Second prompt after the splice",
        reasons="invalid_json",
        assistant_text=["", "Second answer."],
        holds=lambda parsed: parsed[0].read.skipped["invalid_json"] == 1,
    ),
    "claude-worktrees": case(
        *(f"Prompt in place {number}" for number in range(7)), group_id=["acme"] * 7
    ),
    "cline-xml-tools": case(prompts=None, holds=one_turn_or_unread),
    "codex-desktop-response-items": case("Make the button blue", "Now make it green"),
    "codex-exec-json": case(holds=unread),
    "codex-guardian": case(),
    "codex-history-base-fork": case(
        "Child prompt",
        "Parent prompt",
        parent_session_id=["01a08ac2-8900-7901-8111-aaaabbbbcc01", None],
    ),
    "codex-history-jsonl": case("Make the price parser accept commas", "and write a test"),
    "codex-migrated-duplicate-user-item": case("Say it once"),
    "codex-mixed-legacy-then-paginated": case(
        "First prompt, old CLI", "Second prompt, new CLI", "Third prompt, new CLI"
    ),
    "codex-new-row-types": case(
        "Also update the docs",
        "Build it",
        holds=lambda parsed: (parsed[0].read.steering, parsed[0].read.invalid_lines) == (1, 0),
    ),
    "codex-paginated-code-mode": case(
        "Make the price parser accept commas",
        holds=lambda parsed: (
            calls(True, False)(parsed)
            and any("src/price.py" in call["input"] for call in _calls(parsed[1]))
        ),
    ),
    "codex-paginated-parts": case(
        "[image]", "to staging", closed_by=["next_prompt", "interrupted"]
    ),
    "codex-paginated-user_message-key": case("Close it", "Look up ticket 12"),
    "codex-subagent-replay": case("Parent prompt", holds=lines_as_sidechain(12)),
    "codex-token-record-and-count": case(
        "Print the date",
        copies=1,
        input_tokens=[200],
        cache_read_tokens=[800],
        output_tokens=[50],
    ),
    "gemini-json-dup-ids": case("Say hi", assistant_text=["hi there"], output_tokens=[4]),
    "gemini-jsonl-058": case(
        "Explain @README.md",
        "Fix the failing test",
        "a better idea",
        "wrong idea, forget it",
        cwd=["/home/dev/acme"] * 4,
        holds=calls(True),
    ),
    "opencode-export-damaged": case(
        "Exported prompt", "Second exported prompt", copies=3, reasons="invalid_json"
    ),
    # Two databases, whose prompts have one id.
    "opencode-sqlite": case("Prompt in the database", copies=1),
    "opencode-store-and-export": case("Prompt in store and export", copies=1),
    # Not read: old texts of Cursor, threads of Zed.
    "other-agents": case(*["Fix it"] * 9),
    "qwen-chats": case(prompts=None, holds=one_turn_or_unread),
}


@pytest.mark.full
@pytest.mark.archives
@pytest.mark.skipif(not real_archives.CASES.is_dir(), reason="no cases beside the archives")
@pytest.mark.parametrize("name", CASES)
def test_a_case_gives_what_is_right(name: str, tmp_path: Path) -> None:
    expected = CASES[name]
    parsed = report, episodes = parse(real_archives.CASES / name, Lake(tmp_path))
    if expected.prompts is not None:
        prompts = episodes.sort("user_text")
        assert tuple(prompts["user_text"]) == expected.prompts
        assert tuple(text for texts in prompts["steering"] for text in texts) == expected.steering
        assert prompts["copies"].sum() == expected.copies
        found = {column: prompts[column].to_list() for column in expected.columns}
        assert found == dict(expected.columns)
    assert expected.reasons <= {problem.reason.value for problem in _problems(report)}
    messages = " ".join(problem.message for problem in _problems(report))
    assert [word for word in expected.words if word not in messages] == []
    assert expected.holds(parsed)


@pytest.mark.archives
@pytest.mark.skipif(not real_archives.CASES.is_dir(), reason="no cases beside the archives")
def test_every_case_has_a_right_value() -> None:
    assert sorted(CASES) == sorted(path.name for path in real_archives.CASES.iterdir())


def parse(folder: Path, lake: Lake) -> Parsed:
    found = expand([folder])
    report = parsing.parse_archives(found.archives, lake, redactor=NoRedactor())
    report += parsing.ParseReport(path_problems=found.problems)
    build(lake, report.groups)
    tables = [lake.scan_episodes(group).collect() for group in report.groups]
    episodes = pl.concat(tables) if tables else NO_EPISODES
    return report, episodes.sort("session_id", "ordinal")


NO_EPISODES = pl.DataFrame(
    schema={
        "session_id": pl.String,
        "ordinal": pl.Int32,
        "user_text": pl.String,
        "steering": pl.List(pl.String),
        "copies": pl.Int32,
    }
)


def _problems(report: parsing.ParseReport) -> list[parsing.Problem]:
    found = [archive.problem for archive in report.archives if archive.problem is not None]
    return [*found, *report.path_problems]


def _calls(episodes: pl.DataFrame) -> list[dict[str, Any]]:
    return [call for calls in episodes["tool_calls"] for call in calls]


def _results(episodes: pl.DataFrame) -> str:
    return "\n".join(call["result"] for call in _calls(episodes))
