"""Rows of Claude Code archives for tests of the command."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any


def row(kind: str, content: object, native: str, at: datetime | None = None, **fields: Any) -> str:
    """Return a row of the project `shop`; without a time if `at` is None."""
    time = {} if at is None else {"timestamp": at.isoformat()}
    base = {"type": kind, "sessionId": "s1", "cwd": "/home/dev/shop", "uuid": native}
    return json.dumps(base | time | {"message": {"role": kind, "content": content}} | fields)


def conversation(*prompts: str, session: str = "s1", at: datetime | None = None) -> list[str]:
    """Return the rows of a prompt and a response each, all with the same time or without one."""
    return [
        text
        for number, prompt in enumerate(prompts)
        for text in (
            row("user", prompt, f"{session}-u{number}", at, sessionId=session),
            row("assistant", f"Done: {prompt}", f"{session}-a{number}", at, sessionId=session),
        )
    ]


def tool_call(native: str, name: str, at: datetime | None = None, **values: str) -> str:
    """Return a row in which the agent calls a tool."""
    use = {"type": "tool_use", "id": f"call-{native}", "name": name, "input": values}
    return row("assistant", [use], native, at)


def tool_result(native: str, call: str, text: str, at: datetime | None = None) -> str:
    """Return a row with the result of the tool call in the row `call`."""
    result = {"type": "tool_result", "tool_use_id": f"call-{call}", "content": text}
    return row("user", [result], native, at)


def two_turns(folder: Path, at: datetime) -> Path:
    """Write an archive of two turns of the project `shop`; return its path."""
    rows = conversation("Add a cart to the shop", "The cart should never round a price", at=at)
    return write_archive(folder / "a.jsonl", rows)


def write_archive(path: Path, rows: list[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{text}\n" for text in rows))
    return path
