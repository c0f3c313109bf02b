"""Archives of several formats with a different secret in every place that can hold text."""

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import cycle
from typing import Any

from tests.redact.canaries import CANARIES, CHOSEN, fresh, nested

TURNS = 10
"""Turns of each archive: enough for every kind of secret to be in many places."""
SECRETS_PER_TEXT = 3
REJECTED = (
    "The user doesn't want to proceed with this tool use. To tell you how to proceed, "
    "the user said:\n"
)
Json = dict[str, Any]


class SecretSource:
    """Returns texts with new secrets, and records the secrets."""

    def __init__(
        self,
        kinds: Iterable[Callable[[], tuple[str, str]]] = (*CANARIES.values(), *CHOSEN.values()),
    ) -> None:
        """Set the kinds of secrets, each a function as in `CANARIES`."""
        self.secrets: list[str] = []
        self._kinds = cycle(kinds)

    def text(self, before: str = "See") -> str:
        lines = [before]
        for _ in range(SECRETS_PER_TEXT):
            secret, text = next(self._kinds)()
            self.secrets.append(secret)
            lines.append(text)
        return "\n(and so on)\n".join(lines)

    def token(self) -> str:
        """Return a secret that fits into a name."""
        token = "ghp_" + fresh(36)
        self.secrets.append(token)
        return token

    def halves(self) -> tuple[str, str]:
        """Return a text that ends, and one that starts, with half a secret."""
        token = "ghp_" + fresh(36)
        halves = token[:20], token[20:]
        self.secrets += halves
        return f"The token is {halves[0]}", f"{halves[1]} and that is it."


def claude_code(source: SecretSource) -> str:
    rows: list[Json] = []
    for turn in range(TURNS):
        start, end = source.halves()
        rows += [
            {"type": "summary", "summary": source.text(), "leafUuid": "u0"},
            {"type": "custom-title", "customTitle": source.text(), "sessionId": "s1"},
            _row_with_message(
                "user", [_text_block(source.text("Why?")), _text_block(start), _text_block(end)]
            ),
            _row_with_message(
                "assistant", [_text_block(source.text()), *map(_text_block, source.halves())]
            ),
            _row_with_message("assistant", list(_calls(source, turn))),
            _row_with_message("user", list(_results(source, turn))),
            {
                "type": "queue-operation",
                "operation": "enqueue",
                "content": source.text(),
                "sessionId": "s1",
            },
            {"type": "queue-operation", "operation": "remove", "sessionId": "s1"},
            _row_with_message("assistant", [_text_block("Done.")]),
        ]
    for number, row in enumerate(rows):
        row |= {"uuid": f"u{number}", "timestamp": _time(number)}
        row |= {"cwd": f"/home/dev/shop/{source.token()}", "gitBranch": f"fix/{source.token()}"}
    rows[0]["cwd"] = "/home/dev/shop"
    broken = '{"type": "user", "sessionId": "s1", "message": ' + json.dumps(source.text())
    return _lines(rows) + broken + "\n"


def _calls(source: SecretSource, turn: int) -> Iterator[Json]:
    calls: list[tuple[str, Json]] = [
        ("Bash", {"command": source.text("run"), "description": source.text()}),
        ("Write", {"file_path": "/home/dev/shop/.env", "content": source.text()}),
        ("Edit", {"file_path": "a.py", "old_string": source.text(), "new_string": source.text()}),
        ("mcp__db__query", {"dsn": source.text(), "deep": {"list": [source.text()]}}),
        ("Task", {"prompt": source.text(), "description": "look"}),
        (f"mcp__{source.token()}__get", {"of": nested({"is": source.text()})}),
    ]
    for number, (name, given) in enumerate(calls):
        yield {"type": "tool_use", "id": f"t{turn}_{number}", "name": name, "input": given}


def _results(source: SecretSource, turn: int) -> Iterator[Json]:
    texts = [source.text(), nested({"is": source.text()}), "x" * 5000 + source.text()]
    for number, text in enumerate([*texts, REJECTED + source.text()]):
        result = {"type": "tool_result", "tool_use_id": f"t{turn}_{number}", "content": text}
        yield {**result, "is_error": number > 1}
    blocks = [_text_block(half) for half in source.halves()]
    yield {"type": "tool_result", "tool_use_id": f"t{turn}_4", "content": blocks}


def codex(source: SecretSource) -> str:
    git = {"branch": source.token(), "repository_url": f"https://x:{source.token()}@github.com/a/b"}
    meta = {"id": "019cae03-a380-7abc-8000-000000000099", "cwd": "/home/dev/shop", "git": git}
    rows = [_row("session_meta", {**meta, "originator": "codex_cli_rs", "cli_version": "0.50.0"})]
    for turn in range(TURNS):
        prompt, (start, end) = source.text("Please"), source.halves()
        command = json.dumps({"command": ["bash", "-lc", source.text()]})
        rows += [
            _row("turn_context", {"cwd": f"/home/dev/shop/{source.token()}", "model": "gpt-5"}),
            _item({"type": "message", "role": "user", "content": _typed("input_text", prompt)}),
            _row("event_msg", {"type": "user_message", "message": prompt, "kind": "plain"}),
            _item({"type": "function_call", "name": "shell", "arguments": command}, f"c{turn}"),
            _item({"type": "function_call_output", "output": source.text()}, f"c{turn}"),
            _item(
                {
                    "type": "message",
                    "role": "assistant",
                    "content": _typed("output_text", start, end),
                }
            ),
            _row("event_msg", {"type": "agent_message", "message": source.text()}),
        ]
    for number, row in enumerate(rows):
        row["timestamp"] = _time(number)
    return _lines(rows)


def gemini(source: SecretSource) -> str:
    messages: list[Json] = []
    for turn in range(TURNS):
        call = {
            "id": f"run-{turn}",
            "name": "run_shell_command",
            "args": {"command": source.text()},
        }
        response = {
            "id": f"run-{turn}",
            "name": "run_shell_command",
            "response": {"output": source.text()},
        }
        done = {**call, "result": [{"functionResponse": response}], "status": "success"}
        messages += [
            {"type": "user", "content": source.text("Why?")},
            {
                "type": "gemini",
                "content": source.text(),
                "model": "gemini-2.5-pro",
                "toolCalls": [done],
            },
        ]
    for number, message in enumerate(messages):
        message |= {"id": f"{number:08}-0000-4000-8000-00000000000a", "timestamp": _time(number)}
    session = {"sessionId": "c4a7d2f0-1111-4222-8333-444455556677", "projectHash": "5f2b" * 16}
    times = {"startTime": _time(0), "lastUpdated": _time(len(messages))}
    return json.dumps(session | times | {"messages": messages}, ensure_ascii=False)


def opencode(source: SecretSource) -> str:
    info: Json = {"id": "ses_0099", "projectID": "f00d", "directory": "/home/dev/shop"}
    info |= {"title": source.text(), "version": "1.1.36", "time": {"created": _millis(0)}}
    messages = []
    for turn in range(TURNS):
        user, agent = f"msg_{turn * 2:04}", f"msg_{turn * 2 + 1:04}"
        state = {
            "status": "completed",
            "input": {"command": source.text()},
            "output": source.text(),
        }
        state |= {"title": source.text(), "time": {"start": _millis(turn), "end": _millis(turn)}}
        prompt = [_text_block(source.text("Why?")), *map(_text_block, source.halves())]
        response = [
            _text_block(source.text()),
            {"type": "tool", "callID": f"c{turn}", "tool": "bash", "state": state},
        ]
        messages += [
            _message(user, {"role": "user"}, turn, prompt),
            _message(agent, _assistant(user, source), turn, response),
        ]
    return json.dumps({"info": info, "messages": messages}, ensure_ascii=False)


def _assistant(parent: str, source: SecretSource) -> Json:
    path = {"cwd": f"/home/dev/shop/{source.token()}", "root": "/home/dev/shop"}
    return {
        "role": "assistant",
        "parentID": parent,
        "modelID": "m",
        "providerID": "p",
        "path": path,
    }


def _message(name: str, info: Json, turn: int, parts: list[Json]) -> Json:
    ids = {"sessionID": "ses_0099", "messageID": name}
    numbered = [{"id": f"prt_{name}_{number}", **ids, **part} for number, part in enumerate(parts)]
    time = {"created": _millis(turn), "completed": _millis(turn)}
    return {"info": {"id": name, "sessionID": "ses_0099", "time": time, **info}, "parts": numbered}


def chat(source: SecretSource) -> str:
    rows = []
    for number in range(TURNS):
        messages = [{"role": "system", "content": source.text()}]
        messages += [{"role": "user", "content": source.text("Why?")}]
        messages += [{"role": "assistant", "content": source.text()}]
        rows.append({"id": number, "messages": messages})
    return _lines(rows)


ARCHIVES: dict[str, Callable[[SecretSource], str]] = {
    "claude.jsonl": claude_code,
    "codex.jsonl": codex,
    "gemini.json": gemini,
    "opencode.json": opencode,
    "chat.jsonl": chat,
}


def _row_with_message(role: str, content: list[Json]) -> Json:
    message = {"role": role, "content": content, "id": "m1", "model": "claude-opus-4"}
    return {"type": role, "sessionId": "s1", "version": "2.1.12", "message": message}


def _text_block(text: str) -> Json:
    return {"type": "text", "text": text}


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
