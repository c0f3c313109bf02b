"""Archives for tests of the command, a row at a time."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any


def row(kind: str, content: object, native: str, at: datetime | None = None, **fields: Any) -> str:
    """A row of Claude Code's, of a project called `shop`; without a time if none is given."""
    time = {} if at is None else {"timestamp": at.isoformat()}
    base = {"type": kind, "sessionId": "s1", "cwd": "/home/dev/shop", "uuid": native}
    return json.dumps(base | time | {"message": {"role": kind, "content": content}} | fields)


def conversation(*prompts: str, session: str = "s1", at: datetime | None = None) -> list[str]:
    """A prompt and an answer each; all at the same time, or without any."""
    return [
        said
        for number, prompt in enumerate(prompts)
        for said in (
            row("user", prompt, f"{session}-u{number}", at, sessionId=session),
            row("assistant", f"Done: {prompt}", f"{session}-a{number}", at, sessionId=session),
        )
    ]


def tool_call(native: str, name: str, at: datetime | None = None, **values: str) -> str:
    """A row in which the agent calls a tool."""
    use = {"type": "tool_use", "id": f"call-{native}", "name": name, "input": values}
    return row("assistant", [use], native, at)


def tool_result(native: str, of: str, text: str, at: datetime | None = None) -> str:
    """A row with what the call of the row `of` gave back."""
    result = {"type": "tool_result", "tool_use_id": f"call-{of}", "content": text}
    return row("user", [result], native, at)


def write_archive(path: Path, rows: list[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{one}\n" for one in rows))
    return path
