"""Chats of GitHub Copilot in VS Code: `chatSessions/<id>.json`, and logs of changes, `<id>.jsonl`.

The first line of a log holds the session; the others set, append to or delete a value in it. The
calls and results that the model was given are in a request's `result`; until it is complete, only
what VS Code shows of them is recorded.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec

from turnetl.base.reason import SkipReason
from turnetl.formats.kit.conversation import Conversation
from turnetl.formats.kit.conversation_archives import read_messages
from turnetl.formats.kit.json_archives import read_lines
from turnetl.formats.kit.message_parts import at, first_of, objects, path_of_uri, text_of
from turnetl.formats.kit.row_decoder import Envelope, RowDecoder, decode_lenient
from turnetl.formats.kit.times import parse_timestamp
from turnetl.formats.port import ParsedArchive, Probe, SourceSpan


class ChatRequest(msgspec.Struct, rename="camel"):
    """A prompt with its response; times are in milliseconds."""

    request_id: str | None = None
    timestamp: int | float | None = None
    message: Any = None
    variable_data: Any = None
    response: Any = None
    result: Any = None
    model_id: str | None = None
    model_state: Any = None
    is_canceled: bool | None = None


class ChatChange(msgspec.Struct):
    """A change of the value at a path `k`: 0 the whole session, 1 set, 2 append, 3 delete."""

    kind: int | None = None
    k: Any = None
    v: Any = None
    i: int | None = None
    """The length to which an array is cut before values are appended."""


_REQUESTS = RowDecoder(ChatRequest, Envelope(own=(("requestId", "message"),)))
_CHANGES = RowDecoder(ChatChange, Envelope(own=(("kind", "v"), ("kind", "k"))))
_APPEND = 2
_CANCELLED, _FAILED = 2, 3
"""States of a response."""
_ERRORS = ("ERROR while calling tool", "ERROR: Your input to the tool was invalid")
_FENCE = re.compile(r"\s*`{3,}\w*\s*")
"""What is left of a block of code that became a change of a file."""


class CopilotChat:
    def sniff(self, probe: Probe) -> bool:
        """Recognise the archive by a session with its requests, or by a log that begins with it."""
        first = probe.first
        session = first.object_at("v") if first.get("kind") == 0 else first
        names = set() if session is None else session.keys()
        return "requests" in names and not names.isdisjoint(("sessionId", "responderUsername"))

    def read(self, data: bytes) -> ParsedArchive:
        if "kind" not in Probe(data).first:
            return read_messages(data, "requests", _REQUESTS, _read, _describe)
        log, talk = _ChangeLog(), Conversation()
        read_lines(data, _CHANGES, log.read, talk.builder.counts)
        _describe(talk, log.session)
        reasons = [*log.read_requests(talk)]
        for lines, places in log.changes:
            known = [*reasons[places.start : places.stop], SkipReason.SUPERSEDED]
            if (reason := first_of(known)) is not None:
                talk.builder.counts.recount(None, reason, lines)
        return talk.finish()


@dataclass(slots=True)
class _ChangeLog:
    """The session that the changes give, and the lines of each request."""

    session: dict[str, Any] = field(default_factory=dict)
    spans: list[SourceSpan] = field(default_factory=list)
    changes: list[tuple[int, range]] = field(default_factory=list)
    """The lines of each change of requests, and the places of these."""

    @property
    def requests(self) -> list[Any]:
        requests = self.session.get("requests")
        return requests if isinstance(requests, list) else []

    def read(self, change: ChatChange, span: SourceSpan) -> SkipReason | None:
        """Make the change; return the reason if it changes no request."""
        path = change.k if isinstance(change.k, list) else []
        if change.kind == 0 and isinstance(change.v, dict):
            self.session, path = change.v, ["requests"]
        elif not path or not _make(self.session, path, change):
            return SkipReason.OTHER
        count = len(self.requests)
        changed = range(count)
        if path[0] == "requests" and len(path) > 1 and count:
            changed = range(path[1], path[1] + 1)
        elif path[0] == "requests":
            kept = min(len(self.spans), count, count if change.i is None else max(change.i, 0))
            changed = range(kept if change.kind == _APPEND else 0, count)
            self.spans[changed.start :] = [span] * len(changed)
        if path[0] != "requests" or not changed:
            return SkipReason.STATE
        for place in changed:
            first = self.spans[place]
            self.spans[place] = SourceSpan(first.line, span.last_line, first.start, span.end)
        self.changes.append((span.lines, changed))
        return None

    def read_requests(self, talk: Conversation) -> Iterator[SkipReason | None]:
        for request, span in zip(self.requests, self.spans, strict=True):
            talk.span, talk.time = span, None
            value = request if isinstance(request, dict) else {}
            yield _read(talk, decode_lenient(ChatRequest, value))


def _make(session: dict[str, Any], path: list[Any], change: ChatChange) -> bool:
    """Change the value at a path; return whether there is such a place."""
    *parents, last = path
    target: Any = session
    for key in parents:
        target = _child(target, key)
    if change.kind == _APPEND:
        target = _child(target, last)
        if not isinstance(target, list) or not isinstance(change.v, list | None):
            return False
        target[len(target) if change.i is None else max(change.i, 0) :] = change.v or []
        return True
    is_key = isinstance(target, dict) and isinstance(last, str)
    if not is_key and _child(target, last) is None:
        return False
    target[last] = change.v
    return True


def _child(value: Any, key: Any) -> Any:
    if isinstance(value, dict) and isinstance(key, str):
        return value.get(key)
    is_place = isinstance(value, list) and type(key) is int and 0 <= key < len(value)
    return value[key] if is_place else None


def _describe(talk: Conversation, session: dict[str, Any]) -> None:
    talk.describe(session.get("sessionId"))


def _read(talk: Conversation, request: ChatRequest) -> SkipReason | None:
    talk.time = parse_timestamp(request.timestamp)
    parts = objects(request.response)
    folders = (text_of(at(part, "baseUri", "path")) for part in parts)
    folder = next(filter(None, folders), None)
    if folder is not None:
        talk.describe(cwd=path_of_uri(f"file://{folder}").rstrip("/"))
    talk.describe(model=(request.model_id or "").rpartition("/")[2])
    variables = objects(at(request.variable_data, "variables"))
    images = ["[image]" for variable in variables if variable.get("kind") == "image"]
    prompt = text_of(at(request.message, "text")) or text_of(request.message)
    if (reason := talk.prompt(prompt or "\n\n".join(images), request.request_id)) is not None:
        return reason
    talk.time = parse_timestamp(at(request.model_state, "completedAt")) or talk.time
    _read_calls(talk, at(request.result, "metadata"), parts)
    talk.answer(*_texts(parts))
    state = at(request.model_state, "value")
    is_error = at(request.result, "errorDetails") is not None
    if request.is_canceled or is_error or state in (_CANCELLED, _FAILED):
        talk.interrupt()
    return None


def _read_calls(talk: Conversation, metadata: Any, parts: Sequence[dict[str, Any]]) -> None:
    """Read the calls that the model made, else those that are shown."""
    rounds = [objects(one.get("toolCalls")) for one in objects(at(metadata, "toolCallRounds"))]
    for call in (call for one in rounds for call in one):
        key = text_of(call.get("id")) or ""
        talk.call(call.get("name"), call.get("arguments"), key)
        contents = objects(at(metadata, "toolCallResults", key, "content"))
        if output := "\n".join(_text(content.get("value")) for content in contents):
            talk.result(key, output, is_error=output.startswith(_ERRORS))
    shown = [part for part in parts if part.get("kind") == "toolInvocationSerialized"]
    for part in () if any(rounds) else shown:
        if "subAgentInvocationId" in part and at(part, "toolSpecificData", "kind") != "subagent":
            talk.sidechain(partial(_read_shown, part=part), part.get("subAgentInvocationId"))
        else:
            _read_shown(talk, part)


def _read_shown(talk: Conversation, part: dict[str, Any]) -> None:
    of_tool, details = part.get("toolSpecificData"), part.get("resultDetails")
    line = at(of_tool, "commandLine")
    command = text_of(at(line, "userEdited")) or text_of(at(line, "original"))
    given = at(of_tool, "rawInput") or at(details, "input")
    if at(of_tool, "kind") == "subagent":
        names = ("agentName", "description", "prompt")
        given = {name: at(of_tool, name) or "" for name in names}
    name = (text_of(part.get("toolId")) or "").removeprefix("copilot_")
    key = f"{talk.span.start} {part.get('toolCallId')}"
    talk.call(name, {"command": command} if command else given or {}, key)
    output = "\n".join(_text(one.get("value")) for one in objects(at(details, "output")))
    output = output or text_of(at(of_tool, "terminalCommandOutput", "text")) or ""
    exit_code = at(of_tool, "terminalCommandState", "exitCode")
    is_error = at(details, "isError") is True or exit_code not in (None, 0)
    talk.result(key, output or at(of_tool, "result"), is_error=is_error)


def _text(value: Any) -> str:
    """Return a text, or that of the tree of elements that a tool returned."""
    pieces: list[str] = []
    stack = [at(value, "node") or value]
    while stack:
        node = stack.pop()
        if isinstance(text := at(node, "text") if isinstance(node, dict) else node, str):
            is_next = at(node, "lineBreakBefore") and pieces and not pieces[-1].endswith("\n")
            pieces.append(f"\n{text}" if is_next else text)
        stack += reversed(objects(at(node, "children")))
    return "".join(pieces)


def _texts(parts: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the agent's texts: a reference to a file is a part, and does not end one."""
    pieces: list[str] = []
    for part in parts:
        kind = part.get("kind")
        if kind is None and isinstance(text := part.get("value"), str):
            pieces += [] if _FENCE.fullmatch(text) else [text]
        elif kind == "inlineReference":
            place = part.get("inlineReference")
            path = at(place, "path") or at(place, "uri", "path") or at(place, "location", "uri")
            name = text_of(part.get("name")) or text_of(at(place, "name")) or text_of(path)
            pieces.append(f"`{(name or '').rpartition('/')[2]}`")
        elif kind == "toolInvocationSerialized":
            yield "".join(pieces).strip()
            pieces.clear()
    yield "".join(pieces).strip()
