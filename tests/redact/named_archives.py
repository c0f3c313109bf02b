"""Archives of several formats with a different secret in every id and name that they can hold."""

import json
from collections.abc import Callable
from itertools import cycle
from typing import Any

from tests.redact.canaries import fresh
from tests.redact.secret_archives import Json

TURNS = 3
_KINDS = (
    ("", "ghp_", 36),
    ("password=", "", 14),
    ("", "sk-proj-", 48),
    ("api_key=", "", 32),
)
"""What announces a secret, its prefix, and the number of its other characters."""


class SecretNames:
    """Returns names that hold new secrets, and records the secrets."""

    def __init__(self) -> None:
        self.secrets: list[str] = []
        self._kinds = cycle(_KINDS)

    def name(self) -> str:
        """Return a name without spaces and slashes."""
        before, prefix, length = next(self._kinds)
        secret = prefix + fresh(length)
        self.secrets.append(secret)
        return before + secret

    def values(self) -> Json:
        """Return the arguments of a tool call with secrets in its keys."""
        return {self.name(): 1, "deep": [{self.name(): {self.name(): "x"}}], "path": "a.py"}


def claude_code(names: SecretNames) -> str:
    rows: list[Json] = []
    session, parent = names.name(), names.name()
    for _ in range(TURNS):
        prompt, agent, request, call = (names.name() for _ in range(4))
        tool = {"type": "tool_use", "id": call, "name": names.name(), "input": names.values()}
        result = {"type": "tool_result", "tool_use_id": call, "content": json.dumps(names.values())}
        rows += [
            _claude_row("user", "Mend the cart", uuid=prompt, promptId=names.name()),
            _claude_row("assistant", [tool], uuid=agent, parentUuid=prompt, requestId=request),
            _claude_row("user", [result], uuid=names.name(), toolUseResult=names.values()),
            _claude_row("assistant", "Done.", uuid=names.name(), isSidechain=False),
            {"type": names.name(), "uuid": names.name(), names.name(): names.name()},
        ]
        for row in rows[-5:-1]:
            row["message"] |= {"model": names.name(), "id": names.name()}
            row |= {"agentId": names.name(), "slug": names.name(), "userType": names.name()}
    for number, row in enumerate(rows):
        row |= {"timestamp": _time(number), "sessionId": session, "version": names.name()}
        row |= {"cwd": f"/home/dev/{names.name()}", "gitBranch": f"fix/{names.name()}"}
    rows[0] |= {"parentUuid": names.name(), "parentSessionId": parent}
    return _lines(rows)


def codex(names: SecretNames) -> str:
    git = {"branch": names.name(), "commit_hash": names.name(), "repository_url": names.name()}
    meta = {"id": names.name(), "cwd": f"/home/dev/{names.name()}", "git": git}
    meta |= {
        "originator": names.name(),
        "cli_version": names.name(),
        "forked_from_id": names.name(),
    }
    rows: list[Json] = [{"type": "session_meta", "payload": meta}]
    for _ in range(TURNS):
        call, turn = names.name(), names.name()
        context = {"cwd": f"/home/dev/{names.name()}", "model": names.name(), "turn_id": turn}
        arguments = json.dumps(names.values())
        message = {"type": "message", "role": "user", "id": names.name()}
        rows += [
            {"type": "turn_context", "payload": context},
            _item(message, content=[{"type": "input_text", "text": "Mend the cart"}]),
            _event("user_message", message="Mend the cart", kind=names.name()),
            _item(
                {"type": "function_call", "name": names.name()}, call_id=call, arguments=arguments
            ),
            _item({"type": "function_call_output"}, call_id=call, output=arguments),
            _event(names.name(), message="x", **{names.name(): 1}),
            _event("agent_message", message="Done."),
        ]
    return _timed_lines(rows)


def gemini(names: SecretNames) -> str:
    messages: list[Json] = []
    for _ in range(TURNS):
        call = {"id": names.name(), "name": names.name(), "args": names.values()}
        response = {"id": call["id"], "name": names.name(), "response": names.values()}
        done = call | {"status": "success", "result": [{"functionResponse": response}]}
        messages += [
            {"id": names.name(), "type": "user", "content": "Mend the cart"},
            {
                "id": names.name(),
                "type": "gemini",
                "content": "Done.",
                "model": names.name(),
                "toolCalls": [done],
            },
        ]
    for number, message in enumerate(messages):
        message["timestamp"] = _time(number)
    session = {"sessionId": names.name(), "projectHash": names.name(), "kind": names.name()}
    times = {"startTime": _time(0), "lastUpdated": _time(len(messages))}
    return json.dumps(session | times | {"messages": messages, names.name(): names.name()})


def opencode(names: SecretNames) -> str:
    session = names.name()
    info: Json = {"id": session, "projectID": names.name()}
    info |= {"directory": f"/home/dev/{names.name()}", "version": names.name(), "title": "Cart"}
    messages = []
    for number in range(TURNS):
        user, agent = names.name(), names.name()
        path = {"cwd": f"/home/dev/{names.name()}", "root": f"/home/dev/{names.name()}"}
        state = {"status": "completed", "input": names.values(), "output": "x"}
        state |= {"title": "x", "metadata": names.values()}
        tool = {"type": "tool", "callID": names.name(), "tool": names.name(), "state": state}
        prompt: list[Json] = [{"type": "text", "text": "Mend the cart"}]
        response: list[Json] = [{"type": "text", "text": "Done."}, tool]
        model: Json = {"modelID": names.name(), "providerID": names.name(), "path": path}
        infos: tuple[Json, Json] = (
            {"id": user, "role": "user", "agent": names.name()},
            {"id": agent, "role": "assistant", "parentID": user, "mode": names.name()} | model,
        )
        for one, parts in zip(infos, (prompt, response), strict=True):
            time = {"created": _millis(number), "completed": _millis(number)}
            ids = {"sessionID": session, "messageID": one["id"]}
            numbered = [part | ids | {"id": names.name()} for part in parts]
            messages.append({"info": one | {"sessionID": session, "time": time}, "parts": numbered})
    info["time"] = {"created": _millis(0)}
    return json.dumps({"info": info, "messages": messages})


def chat(names: SecretNames) -> str:
    rows = [
        {
            "id": names.name(),
            "conversation_id": names.name(),
            "model": names.name(),
            names.name(): names.name(),
            "messages": [
                {"role": "user", "content": "Mend the cart", "name": names.name()},
                {
                    "role": "assistant",
                    "content": "Done.",
                    "id": names.name(),
                    "model": names.name(),
                },
            ],
        }
        for _ in range(TURNS)
    ]
    return _lines(rows)


ARCHIVES: dict[str, Callable[[SecretNames], str]] = {
    "claude.jsonl": claude_code,
    "codex.jsonl": codex,
    "gemini.json": gemini,
    "opencode.json": opencode,
    "chat.jsonl": chat,
}


def _claude_row(kind: str, content: Any, **fields: Any) -> Json:
    message = {"role": kind, "content": content}
    return {"type": kind, "message": message} | fields


def _item(payload: Json, **fields: Any) -> Json:
    return {"type": "response_item", "payload": payload | fields}


def _event(event: str, /, **fields: Any) -> Json:
    return {"type": "event_msg", "payload": {"type": event} | fields}


def _lines(rows: list[Json]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def _timed_lines(rows: list[Json]) -> str:
    return _lines([row | {"timestamp": _time(number)} for number, row in enumerate(rows)])


def _time(number: int) -> str:
    return f"2026-03-02T09:{number // 60:02}:{number % 60:02}.000Z"


def _millis(number: int) -> int:
    return 1_772_442_000_000 + number * 60_000
