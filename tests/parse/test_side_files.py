"""Side files: an agent's file beside a session adds the folder and the model that it lacks."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.archives import row, tool_call, tool_result, write_archive
from tests.parse.parse_runs import run
from tests.redact.canaries import fresh
from turnetl.lake import Lake
from turnetl.parsing.side_files import SIDE_FILES
from turnetl.redact import SecretRedactor

ARCHIVES = Path(__file__).parents[1] / "archives"
KIRO = {"rts_model_state": {"model_info": {"model_id": "claude-sonnet-4.6"}}}
COWORK = "local-agent-mode-sessions/a/b/local_1"
CASES: dict[str, tuple[str, str, Any, str | None, str | None]] = {
    "kiro/tools.jsonl": (
        "s/1.jsonl",
        "s/1.json",
        {"cwd": "/home/dev/shop", "session_state": KIRO},
        "/home/dev/shop",
        "claude-sonnet-4.6",
    ),
    "cline/session.json": (
        "1/1.messages.json",
        "1/1.json",
        {"cwd": "/home/dev/shop", "model": "gpt-5"},
        "/home/dev/shop",
        "claude-sonnet-4-5",
    ),
    "cline/xml.json": (
        "tasks/1/api_conversation_history.json",
        "tasks/1/task_metadata.json",
        {"model_usage": [{"model_id": "gpt-5", "ts": 1}]},
        None,
        "gpt-5",
    ),
    "copilot_chat/log.jsonl": (
        "w/chatSessions/1.jsonl",
        "w/workspace.json",
        {"folder": "file:///home/dev/other%20shop"},
        "/home/dev/bookshop",
        "gpt-5-mini",
    ),
    "grok/tools.jsonl": (
        "1/updates.jsonl",
        "1/summary.json",
        {"info": {"cwd": "/home/dev/shop"}},
        "/home/dev/shop",
        None,
    ),
    "kimi/torn.jsonl": (
        "wd_1/s/agents/main/wire.jsonl",
        "wd_1/s/state.json",
        {"workDir": "/home/dev/shop"},
        "/home/dev/shop",
        None,
    ),
    "pi/droid.jsonl": (
        "1.jsonl",
        "1.settings.json",
        {"model": "gpt-5-mini"},
        "/home/dev/bookshop",
        "gpt-5-mini",
    ),
    "claude_code/cowork_audit.jsonl": (
        f"{COWORK}/audit.jsonl",
        f"{COWORK}.json",
        {"userSelectedFolders": ["/home/dev/library"], "model": "x"},
        "/home/dev/library",
        "claude-opus-4-6",
    ),
}
"""By sample: the paths of archive and side file, what this holds; folder and model of the turns."""


def parsed(folder: Path, sample: str, side: bytes | None) -> list[tuple[str, str | None, Any]]:
    """Return id, folder and model of the turns of a sample with this side file."""
    archive, beside, *_ = CASES[sample]
    path = folder / archive
    path.parent.mkdir(parents=True)
    shutil.copy(ARCHIVES / sample, path)
    if side is not None:
        (folder / beside).write_bytes(side)
    lake = Lake(folder / "lake")
    run(lake, path)
    turns = [turn for group in lake.groups() for turn in lake.turns(group)]
    return [(turn.prompt_id or turn.user_text, turn.cwd, turn.model) for turn in turns]


def test_a_side_file_adds_what_the_archive_lacks(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for number, (sample, (*_, value, folder, model)) in enumerate(CASES.items()):
        with subtests.test(sample=sample):
            turns = parsed(tmp_path / f"{number}", sample, json.dumps(value).encode())
            assert turns
            assert {turn[1] for turn in turns} == {folder}
            assert {turn[2] for turn in turns} == {model}


def test_a_damaged_side_file_adds_nothing(tmp_path: Path, subtests: pytest.Subtests) -> None:
    damaged = (b"", b"{", b"[[[]]]", b'{"cwd": 1, "session_state": []}', b"[" * 100_000, b"\xff")
    for sample in ("kiro/tools.jsonl", "claude_code/cowork_audit.jsonl"):
        plain = parsed(tmp_path / sample.replace("/", "-"), sample, None)
        for number, data in enumerate(damaged):
            with subtests.test(sample=sample, data=data[:20]):
                folder = tmp_path / f"{sample.replace('/', '-')}-{number}"
                assert parsed(folder, sample, data) == plain


def test_the_folder_of_a_virtual_machine_is_no_project(tmp_path: Path) -> None:
    parsed(tmp_path, "claude_code/cowork_audit.jsonl", None)
    assert Lake(tmp_path / "lake").groups() == ["no_project"]


def test_every_kind_of_side_file_has_a_case() -> None:
    assert SIDE_FILES.keys() == {sample.partition("/")[0] for sample in CASES}


TOKEN = "ghp_" + fresh(36)
FAILED = "FAILED tests/test_cart.py::test_total"
OUTPUT = "building\n" * 2000 + f"{FAILED}\ntoken={TOKEN}\n" + "done\n" * 900
PERSISTED = """<persisted-output>
Output too large (31KB). Full output saved to: /home/dev/s/tool-results/toolu_1.txt

Preview (first 2KB):
building
...
</persisted-output>"""
OF_SERVER = """Error: result (31,000 characters) exceeds maximum allowed tokens. Output has been \
saved to /home/dev/s/tool-results/mcp-ci-log-1.txt.
Format: JSON array with schema: [{type: string, text: string}]"""
ELSEWHERE = PERSISTED.replace("toolu_1.txt", "../../toolu_1.txt")
PARTS = json.dumps([{"type": "text", "text": OUTPUT}])


@pytest.mark.parametrize("archive", ["s.jsonl", "s/subagents/agent-a1.jsonl"])
def test_a_whole_output_beside_the_session_is_the_result_of_the_call_that_names_it(
    archive: str, subtests: pytest.Subtests, tmp_path: Path
) -> None:
    cases = {
        PERSISTED: ("toolu_1.txt", OUTPUT),
        OF_SERVER: ("mcp-ci-log-1.txt", PARTS),
        ELSEWHERE: ("../../toolu_1.txt", OUTPUT),
    }
    sidechain = {"isSidechain": True, "agentId": "a1"} if "agent" in archive else {}
    for number, (result, (name, content)) in enumerate(cases.items()):
        with subtests.test(name=name):
            folder, lake = tmp_path / str(number), Lake(tmp_path / f"lake{number}")
            rows = [
                row("user", "Build it", "u1"),
                tool_call("c1", "Bash", command="make"),
                tool_result("r1", "c1", result),
            ]
            path = write_archive(
                folder / archive, [json.dumps(json.loads(text) | sidechain) for text in rows]
            )
            (folder / "s/tool-results").mkdir(parents=True)
            (folder / "s/tool-results" / name).write_text(content)
            run(lake, path, redactor=SecretRedactor())
            [batch] = lake.row_batches(lake.groups()[0])
            stored = batch.read()["tool_calls"][0][0]["result"]
            assert (FAILED in stored) == (result != ELSEWHERE)
            assert len(stored) < 4000
            assert TOKEN not in stored
