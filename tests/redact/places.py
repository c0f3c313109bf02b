"""Archives of several formats with a secret of its own in every place where text can stand."""

import json
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any

from tests.redact.canaries import CANARIES, drawn, nested

TURNS = 10
"""Of each archive: enough for every kind of secret to stand in many places."""
AT_ONCE = 3
"""Secrets in one place."""
REJECTED = (
    "The user doesn't want to proceed with this tool use. To tell you how to proceed, "
    "the user said:\n"
)
Json = dict[str, Any]


class Planter:
    """Gives words that hold secrets, each once, and keeps what must not be found."""

    def __init__(self) -> None:
        self.secrets: list[str] = []
        self._kinds = cycle(CANARIES.values())

    def words(self, before: str = "See") -> str:
        said = [before]
        for _ in range(AT_ONCE):
            secret, words = next(self._kinds)()
            self.secrets.append(secret)
            said.append(words)
        return "\n(and so on)\n".join(said)

    def line(self) -> str:
        """Return words that fit into a name."""
        token = "ghp_" + drawn(36)
        self.secrets.append(token)
        return token

    def halves(self) -> tuple[str, str]:
        """Return words that end, and words that begin, with half a secret."""
        token = "ghp_" + drawn(36)
        halves = token[:20], token[20:]
        self.secrets += halves
        return f"The token is {halves[0]}", f"{halves[1]} and that is it."


def claude_code(plant: Planter) -> str:
    rows: list[Json] = []
    for turn in range(TURNS):
        start, end = plant.halves()
        rows += [
            {"type": "summary", "summary": plant.words(), "leafUuid": "u0"},
            {"type": "custom-title", "customTitle": plant.words(), "sessionId": "s1"},
            _said("user", [_text(plant.words("Why?")), _text(start), _text(end)]),
            _said("assistant", [_text(plant.words()), *map(_text, plant.halves())]),
            _said("assistant", list(_calls(plant, turn))),
            _said("user", list(_outcomes(plant, turn))),
            {
                "type": "queue-operation",
                "operation": "enqueue",
                "content": plant.words(),
                "sessionId": "s1",
            },
            {"type": "queue-operation", "operation": "remove", "sessionId": "s1"},
            _said("assistant", [_text("Done.")]),
        ]
    for number, row in enumerate(rows):
        row |= {"uuid": f"u{number}", "timestamp": _time(number)}
        row |= {"cwd": f"/home/dev/shop/{plant.line()}", "gitBranch": f"fix/{plant.line()}"}
    rows[0]["cwd"] = "/home/dev/shop"
    broken = '{"type": "user", "sessionId": "s1", "message": ' + json.dumps(plant.words())
    return _lines(rows) + broken + "\n"


def _calls(plant: Planter, turn: int) -> Iterator[Json]:
    calls: list[tuple[str, Json]] = [
        ("Bash", {"command": plant.words("run"), "description": plant.words()}),
        ("Write", {"file_path": "/home/dev/shop/.env", "content": plant.words()}),
        ("Edit", {"file_path": "a.py", "old_string": plant.words(), "new_string": plant.words()}),
        ("mcp__db__query", {"dsn": plant.words(), "deep": {"list": [plant.words()]}}),
        ("Task", {"prompt": plant.words(), "description": "look"}),
        (f"mcp__{plant.line()}__get", {"of": nested({"is": plant.words()})}),
    ]
    for number, (name, given) in enumerate(calls):
        yield {"type": "tool_use", "id": f"t{turn}_{number}", "name": name, "input": given}


def _outcomes(plant: Planter, turn: int) -> Iterator[Json]:
    said = [plant.words(), nested({"is": plant.words()}), "x" * 5000 + plant.words()]
    for number, text in enumerate([*said, REJECTED + plant.words()]):
        outcome = {"type": "tool_result", "tool_use_id": f"t{turn}_{number}", "content": text}
        yield {**outcome, "is_error": number > 1}
    blocks = [_text(half) for half in plant.halves()]
    yield {"type": "tool_result", "tool_use_id": f"t{turn}_4", "content": blocks}


def codex(plant: Planter) -> str:
    git = {"branch": plant.line(), "repository_url": f"https://x:{plant.line()}@github.com/a/b"}
    meta = {"id": "019cae03-a380-7abc-8000-000000000099", "cwd": "/home/dev/shop", "git": git}
    rows = [_row("session_meta", {**meta, "originator": "codex_cli_rs", "cli_version": "0.50.0"})]
    for turn in range(TURNS):
        asked, (start, end) = plant.words("Please"), plant.halves()
        command = json.dumps({"command": ["bash", "-lc", plant.words()]})
        rows += [
            _row("turn_context", {"cwd": f"/home/dev/shop/{plant.line()}", "model": "gpt-5"}),
            _item({"type": "message", "role": "user", "content": _typed("input_text", asked)}),
            _row("event_msg", {"type": "user_message", "message": asked, "kind": "plain"}),
            _item({"type": "function_call", "name": "shell", "arguments": command}, f"c{turn}"),
            _item({"type": "function_call_output", "output": plant.words()}, f"c{turn}"),
            _item(
                {
                    "type": "message",
                    "role": "assistant",
                    "content": _typed("output_text", start, end),
                }
            ),
            _row("event_msg", {"type": "agent_message", "message": plant.words()}),
        ]
    for number, row in enumerate(rows):
        row["timestamp"] = _time(number)
    return _lines(rows)


def gemini(plant: Planter) -> str:
    messages: list[Json] = []
    for turn in range(TURNS):
        call = {
            "id": f"run-{turn}",
            "name": "run_shell_command",
            "args": {"command": plant.words()},
        }
        response = {
            "id": f"run-{turn}",
            "name": "run_shell_command",
            "response": {"output": plant.words()},
        }
        done = {**call, "result": [{"functionResponse": response}], "status": "success"}
        messages += [
            {"type": "user", "content": plant.words("Why?")},
            {
                "type": "gemini",
                "content": plant.words(),
                "model": "gemini-2.5-pro",
                "toolCalls": [done],
            },
        ]
    for number, message in enumerate(messages):
        message |= {"id": f"{number:08}-0000-4000-8000-00000000000a", "timestamp": _time(number)}
    session = {"sessionId": "c4a7d2f0-1111-4222-8333-444455556677", "projectHash": "5f2b" * 16}
    times = {"startTime": _time(0), "lastUpdated": _time(len(messages))}
    return json.dumps(session | times | {"messages": messages}, ensure_ascii=False)


def opencode(plant: Planter) -> str:
    info: Json = {"id": "ses_0099", "projectID": "f00d", "directory": "/home/dev/shop"}
    info |= {"title": plant.words(), "version": "1.1.36", "time": {"created": _millis(0)}}
    messages = []
    for turn in range(TURNS):
        user, agent = f"msg_{turn * 2:04}", f"msg_{turn * 2 + 1:04}"
        state = {
            "status": "completed",
            "input": {"command": plant.words()},
            "output": plant.words(),
        }
        state |= {"title": plant.words(), "time": {"start": _millis(turn), "end": _millis(turn)}}
        asked = [_text(plant.words("Why?")), *map(_text, plant.halves())]
        said = [
            _text(plant.words()),
            {"type": "tool", "callID": f"c{turn}", "tool": "bash", "state": state},
        ]
        messages += [
            _message(user, {"role": "user"}, turn, asked),
            _message(agent, _assistant(user, plant), turn, said),
        ]
    return json.dumps({"info": info, "messages": messages}, ensure_ascii=False)


def _assistant(parent: str, plant: Planter) -> Json:
    path = {"cwd": f"/home/dev/shop/{plant.line()}", "root": "/home/dev/shop"}
    return {
        "role": "assistant",
        "parentID": parent,
        "modelID": "m",
        "providerID": "p",
        "path": path,
    }


def _message(name: str, info: Json, turn: int, parts: list[Json]) -> Json:
    of = {"sessionID": "ses_0099", "messageID": name}
    numbered = [{"id": f"prt_{name}_{at}", **of, **part} for at, part in enumerate(parts)]
    time = {"created": _millis(turn), "completed": _millis(turn)}
    return {"info": {"id": name, "sessionID": "ses_0099", "time": time, **info}, "parts": numbered}


def chat(plant: Planter) -> str:
    rows = []
    for number in range(TURNS):
        said = [{"role": "system", "content": plant.words()}]
        said += [{"role": "user", "content": plant.words("Why?")}]
        said += [{"role": "assistant", "content": plant.words()}]
        rows.append({"id": number, "messages": said})
    return _lines(rows)


ARCHIVES: dict[str, Callable[[Planter], str]] = {
    "claude.jsonl": claude_code,
    "codex.jsonl": codex,
    "gemini.json": gemini,
    "opencode.json": opencode,
    "chat.jsonl": chat,
}


def _said(role: str, content: list[Json]) -> Json:
    message = {"role": role, "content": content, "id": "m1", "model": "claude-opus-4"}
    return {"type": role, "sessionId": "s1", "version": "2.1.12", "message": message}


def _text(words: str) -> Json:
    return {"type": "text", "text": words}


def _row(kind: str, payload: Json) -> Json:
    return {"type": kind, "payload": payload}


def _item(payload: Json, call: str | None = None) -> Json:
    return _row("response_item", payload | ({"call_id": call} if call else {}))


def _typed(kind: str, *texts: str) -> list[Json]:
    return [{"type": kind, "text": text} for text in texts]


def _lines(rows: list[Json]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _time(number: int) -> str:
    return f"2026-03-02T09:{number // 60:02}:{number % 60:02}.000Z"


def _millis(number: int) -> int:
    return 1_772_442_000_000 + number * 60_000
