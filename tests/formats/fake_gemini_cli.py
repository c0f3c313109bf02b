"""A fake Gemini CLI that writes a session in lines as its recorder has done since 0.40.

When the user changes the history, the recorder writes it once more for the model: with `$set` in
older releases, with `$patch` in newer ones. For some models, consecutive messages of one role are
sent as one message.
"""

import json
from dataclasses import dataclass, field
from typing import Any

_SESSION = "11112222-3333-4444-8555-666677770001"
_CONTEXT = "<session_context>\nThis is the Gemini CLI.\n</session_context>"
_SNAPSHOT = "<state_snapshot>\n<overall_goal>A zoo</overall_goal>\n</state_snapshot>"
_ACKNOWLEDGED = "Got it. Thanks for the additional context!"

Content = tuple[str, list[dict[str, Any]]]
"""The role and the parts of a message, as they are sent to the model."""


@dataclass
class FakeGeminiCli:
    patches: bool
    """Whether it writes `$patch`, as newer releases do."""
    merges: bool
    """Whether consecutive messages of one role are sent as one."""
    prompts: list[tuple[str, str]] = field(default_factory=list)
    """The text and the id of each prompt."""
    answers: list[list[str]] = field(default_factory=list)
    """The answers to each prompt."""
    rows: list[dict[str, Any]] = field(default_factory=list)
    history: dict[str, Content] = field(default_factory=dict)
    saved: list[Content] | None = None
    _recorded: dict[str, dict[str, Any]] = field(default_factory=dict)
    _ids: int = 0

    def __post_init__(self) -> None:
        self.rows.append({"sessionId": _SESSION, "projectHash": "5f2b", "kind": "main"})
        self._set_history({self._id(): ("user", [{"text": _CONTEXT}])})

    def data(self) -> bytes:
        return b"\n".join(json.dumps(row).encode() for row in self.rows)

    def turn(self, text: str) -> None:
        """Write a prompt, a call with its result, and an answer."""
        self._prompt(text)
        call_id = self._id()
        call = {"id": call_id, "name": "read_file", "args": {}}
        call_message = self._record("gemini", "", model="m")
        self.history[call_message] = "model", [{"functionCall": call}]
        result = [{"functionResponse": {"id": call_id, "response": {"output": text}}}]
        self._write(self._recorded[call_message] | {"toolCalls": [call | {"result": result}]})
        self.history[self._record("user", result)] = "user", result
        self.answers[-1].append(f"Did {text}.")
        answer = self._record("gemini", f"Did {text}.", model="m")
        self.history[answer] = "model", [{"text": f"Did {text}.\u200b"}]

    def abort(self, text: str) -> None:
        before = dict(self.history)
        self._prompt(text)
        self._set_history(before)

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
        tail = {self._id(): content for content in snapshot + acknowledged + kept}
        self._set_history({first: ("user", [{"text": _CONTEXT}])} | tail)

    def rewind(self) -> None:
        """Rewind to before the last message that the user sees as typed."""
        ids = list(self.history)
        typed = [id_ for id_ in ids[1:] if any("text" in part for part in self._user_parts(id_))]
        if not typed:
            return
        self.rows.append({"$rewindTo": typed[-1]})
        for id_ in ids[ids.index(typed[-1]) :]:
            del self.history[id_]
            del self._recorded[id_]

    def _prompt(self, text: str) -> None:
        prompt_id = self._record("user", [{"text": text}])
        self.prompts.append((text, prompt_id))
        self.answers.append([])
        self.history[prompt_id] = "user", [{"text": text}]

    def _user_parts(self, message_id: str) -> list[dict[str, Any]]:
        role, parts = self.history[message_id]
        return parts if role == "user" else []

    def _contents(self) -> list[Content]:
        """Return the history as it is sent to the model."""
        sent: list[Content] = []
        for role, parts in self.history.values():
            if self.merges and sent and sent[-1][0] == role:
                sent[-1] = role, sent[-1][1] + parts
            else:
                sent.append((role, parts))
        return sent

    def _load(self, contents: list[Content]) -> None:
        types = {"user": "user", "model": "gemini"}
        self._set_history(
            {self._record(types[role], parts): (role, parts) for role, parts in contents}
        )

    def _set_history(self, history: dict[str, Content]) -> None:
        """Replace the history, and write the rows that the change requires."""
        known = [id_ for id_ in self._recorded if id_ in history]
        removed = [id_ for id_ in self._recorded if id_ not in history]
        new = {
            id_: _message(id_, "user" if role == "user" else "gemini", parts)
            for id_, (role, parts) in history.items()
            if id_ not in self._recorded
        }
        messages = {id_: self._recorded.get(id_) or new[id_] for id_ in history}
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
