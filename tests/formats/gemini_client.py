"""A stand-in for Gemini CLI that writes a session in lines as its recorder does, since 0.40.

What a person does to a history is told to the model by writing it once more: with `$set` in older
releases, with `$patch` in newer ones. Some models are sent neighbours of one role as one message.
"""

import json
from dataclasses import dataclass, field
from typing import Any

_SESSION = "11112222-3333-4444-8555-666677770001"
_CONTEXT = "<session_context>\nThis is the Gemini CLI.\n</session_context>"
_SNAPSHOT = "<state_snapshot>\n<overall_goal>A zoo</overall_goal>\n</state_snapshot>"
_ACKNOWLEDGED = "Got it. Thanks for the additional context!"

Content = tuple[str, list[dict[str, Any]]]
"""A role and the pieces of a message, as the model is sent it."""


@dataclass
class Client:
    patches: bool
    """Whether it writes `$patch`, as newer releases do."""
    merges: bool
    """Whether neighbours of one role are sent as one."""
    prompts: list[tuple[str, str]] = field(default_factory=list)
    """What was typed, and under which id."""
    answers: list[list[str]] = field(default_factory=list)
    """What each prompt was answered."""
    rows: list[dict[str, Any]] = field(default_factory=list)
    history: dict[str, Content] = field(default_factory=dict)
    saved: list[Content] | None = None
    _recorded: dict[str, dict[str, Any]] = field(default_factory=dict)
    _ids: int = 0

    def __post_init__(self) -> None:
        self.rows.append({"sessionId": _SESSION, "projectHash": "5f2b", "kind": "main"})
        self._tell({self._id(): ("user", [{"text": _CONTEXT}])})

    def data(self) -> bytes:
        return b"\n".join(json.dumps(row).encode() for row in self.rows)

    def turn(self, words: str) -> None:
        """A prompt, a call with its outcome, and an answer."""
        self._prompt(words)
        call_id = self._id()
        call = {"id": call_id, "name": "read_file", "args": {}}
        called = self._record("gemini", "", model="m")
        self.history[called] = "model", [{"functionCall": call}]
        outcome = [{"functionResponse": {"id": call_id, "response": {"output": words}}}]
        self._write(self._recorded[called] | {"toolCalls": [call | {"result": outcome}]})
        self.history[self._record("user", outcome)] = "user", outcome
        self.answers[-1].append(f"Did {words}.")
        said = self._record("gemini", f"Did {words}.", model="m")
        self.history[said] = "model", [{"text": f"Did {words}.\u200b"}]

    def abort(self, words: str) -> None:
        before = dict(self.history)
        self._prompt(words)
        self._tell(before)

    def mask(self) -> None:
        self._load(self._contents())

    def save(self) -> None:
        self.saved = self._contents()

    def load(self) -> None:
        if self.saved is not None:
            self._load(self.saved)

    def compress(self) -> None:
        first = next(iter(self._recorded))
        kept = self._contents()[-2:]
        snapshot: list[Content] = [("user", [{"text": _SNAPSHOT}])]
        acknowledged: list[Content] = [("model", [{"text": _ACKNOWLEDGED}])]
        tail = {self._id(): one for one in snapshot + acknowledged + kept}
        self._tell({first: ("user", [{"text": _CONTEXT}])} | tail)

    def rewind(self) -> None:
        """Back to before the last message that a person is shown as typed."""
        ids = list(self.history)
        typed = [one for one in ids[1:] if any("text" in part for part in self._user_parts(one))]
        if not typed:
            return
        self.rows.append({"$rewindTo": typed[-1]})
        for one in ids[ids.index(typed[-1]) :]:
            del self.history[one]
            del self._recorded[one]

    def _prompt(self, words: str) -> None:
        prompt_id = self._record("user", [{"text": words}])
        self.prompts.append((words, prompt_id))
        self.answers.append([])
        self.history[prompt_id] = "user", [{"text": words}]

    def _user_parts(self, message_id: str) -> list[dict[str, Any]]:
        role, parts = self.history[message_id]
        return parts if role == "user" else []

    def _contents(self) -> list[Content]:
        """Return the history as the model is sent it."""
        sent: list[Content] = []
        for role, parts in self.history.values():
            if self.merges and sent and sent[-1][0] == role:
                sent[-1] = role, sent[-1][1] + parts
            else:
                sent.append((role, parts))
        return sent

    def _load(self, contents: list[Content]) -> None:
        kinds = {"user": "user", "model": "gemini"}
        self._tell({self._record(kinds[role], parts): (role, parts) for role, parts in contents})

    def _tell(self, history: dict[str, Content]) -> None:
        """Make this the history, and write down what changes by that."""
        known = [one for one in self._recorded if one in history]
        removed = [one for one in self._recorded if one not in history]
        new = {
            one: _message(one, "user" if role == "user" else "gemini", parts)
            for one, (role, parts) in history.items()
            if one not in self._recorded
        }
        messages = {one: self._recorded.get(one) or new[one] for one in history}
        if not self.patches:
            self.rows.append({"$set": {"messages": list(messages.values())}})
        else:
            self.rows += new.values()
            if removed and not new and list(self._recorded)[: len(known)] == known:
                self.rows.append({"$rewindTo": removed[0]})
            elif removed:
                self.rows.append({"$patch": {"removeIds": removed, "orderIds": list(messages)}})
        self.history, self._recorded = dict(history), messages

    def _record(self, kind: str, content: Any, **fields: Any) -> str:
        message = _message(self._id(), kind, content) | fields
        self._write(message)
        return str(message["id"])

    def _write(self, message: dict[str, Any]) -> None:
        self.rows += [message, {"$set": {"lastUpdated": "2026-03-02T09:00:00Z"}}]
        self._recorded[str(message["id"])] = message

    def _id(self) -> str:
        self._ids += 1
        return f"{self._ids:08d}-0000-4000-8000-000000000000"


def _message(message_id: str, kind: str, content: Any) -> dict[str, Any]:
    return {
        "id": message_id,
        "timestamp": "2026-03-02T09:00:00Z",
        "type": kind,
        "content": content,
    }
