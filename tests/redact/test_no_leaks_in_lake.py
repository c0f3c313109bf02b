"""From archive to lake: no written byte is a part of a secret."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests import real_archives
from tests.redact.canaries import CANARIES, nested
from turnetl import episodes, parsing
from turnetl.base.model import GroupId
from turnetl.lake import Lake
from turnetl.redact import SecretRedactor

GROUP = GroupId("shop")
REJECTED = (
    "The user doesn't want to proceed with this tool use. To tell you how to proceed, "
    "the user said:\n"
)


def archive(text: str, session: str = "s1") -> str:
    """Return an archive of a session that has the text in every place that can hold text."""
    inside = nested({"of": text})
    half = len(text) // 2
    blocks = [_text(text), _text(f"{text[:half]}"), _text(f"{text[half:]}")]
    calls = [
        _use("t1", "Bash", {"command": f"run {text}", "description": text}),
        _use("t2", "Write", {"file_path": "/home/dev/shop/.env", "content": text}),
        _use("t3", "Edit", {"file_path": "a.py", "old_string": text, "new_string": inside}),
        _use("t4", "mcp__db__query", {"dsn": text, "deep": {"list": [text]}}),
        _use("t5", "Task", {"prompt": text, "description": "look"}),
    ]
    failed = [_result("t3", text, error=True), _result("t5", REJECTED + text, error=True)]
    rows = [
        _row("user", f"Why? {text}"),
        _row("assistant", blocks),
        _row("assistant", calls),
        _row("user", [_result("t1", text), _result("t2", inside)]),
        _row("user", [_result("t4", "x" * 5000 + " " + text), *failed]),
        {"type": "queue-operation", "operation": "enqueue", "content": text, "sessionId": "s1"},
        {"type": "queue-operation", "operation": "remove", "sessionId": "s1"},
        _row("user", [_text("Look here"), _text(text)]),
        _row("assistant", [_text("Done.")]),
    ]
    for number, row in enumerate(rows):
        row |= {"uuid": f"{session}-{number}", "sessionId": session}
        row |= {"timestamp": f"2026-03-02T09:00:0{number}.000Z"}
        row |= {"cwd": f"/home/dev/shop {text}", "gitBranch": text}
    return "\n".join(json.dumps(row) for row in rows) + "\n"


def _row(role: str, content: Any) -> dict[str, Any]:
    message = {"role": role, "content": content, "id": "m1", "model": "claude-opus-4"}
    return {"type": role, "sessionId": "s1", "version": "2.1.12", "message": message}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _use(name: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": tool, "input": arguments}


def _result(name: str, text: str, *, error: bool = False) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": name, "content": text, "is_error": error}


def written(lake: Path) -> str:
    """Return all names, rows and metadata of the lake.

    Newlines are not escaped: an escaped newline ends in a letter that a secret may start with.
    """
    texts = []
    for path in sorted(lake.rglob("*")):
        texts.append(str(path))
        if path.is_file():
            texts += [repr(pl.read_parquet_metadata(path)), repr(pl.read_parquet(path).to_dicts())]
            texts.append(path.read_bytes().decode("latin-1"))
    return "\n".join(texts).replace(r"\n", "\n")


@pytest.mark.full
def test_no_canary_reaches_the_lake(tmp_path: Path, redactor: SecretRedactor) -> None:
    drawn = {f"{number}.jsonl": canary() for number, canary in enumerate(CANARIES.values())}
    for name, (_, text) in drawn.items():
        (tmp_path / name).write_text(archive(text, name))
    paths = [tmp_path / name for name in drawn]
    lake = Lake(tmp_path / "lake")
    parsing.parse_archives(paths, lake, redactor=redactor, grouping=parsing.Grouping(GROUP))
    episodes.build(lake, [GROUP])
    texts = written(tmp_path / "lake")
    assert [secret for secret, _ in drawn.values() if secret in texts] == []
    turns = lake.scan_turns(GROUP).collect()
    assert {Path(archive).name for archive in turns["archive"]} == drawn.keys()
    assert turns["redactions"].min()


@pytest.mark.archives
@real_archives.needs_archives
def test_real_archives_without_secrets_stay_complete(
    tmp_path: Path, redactor: SecretRedactor
) -> None:
    lake = Lake(tmp_path)
    expanded = parsing.expand([str(real_archives.ARCHIVES / "entireio__cli")])
    parsing.parse_archives(
        expanded.archives, lake, redactor=redactor, grouping=parsing.Grouping(GROUP)
    )
    assert lake.scan_turns(GROUP).select(pl.col("redactions").sum()).collect().item() == 0
    (report,) = episodes.build(lake, [GROUP]).groups
    assert report.chars_after <= 0.15 * report.chars_before


@pytest.fixture(scope="module")
def redactor() -> SecretRedactor:
    return SecretRedactor()
