"""Threads of Zed's agent: a row of its database is a document, whose messages have no time."""

from collections.abc import Iterator
from typing import Any

import msgspec

from turnetl.base.reason import SkipReason
from turnetl.formats.kit.conversation import Conversation
from turnetl.formats.kit.conversation_archives import read_messages
from turnetl.formats.kit.message_parts import at, first_of, objects, text_of, texts_of
from turnetl.formats.kit.row_decoder import Envelope, RowDecoder
from turnetl.formats.kit.tool_input import as_text
from turnetl.formats.port import ParsedArchive, Probe


class ZedMessage(msgspec.Struct, rename={"user": "User", "agent": "Agent"}):
    """A message of the user or of the agent; before mid-2025 a role with segments."""

    user: dict[str, Any] | None = None
    agent: dict[str, Any] | None = None
    id: Any = None
    role: str | None = None
    segments: Any = None
    tool_uses: Any = None
    tool_results: Any = None


_MESSAGES = RowDecoder(ZedMessage, Envelope(own=(("User",), ("Agent",), ("role", "segments"))))


class Zed:
    def sniff(self, probe: Probe) -> bool:
        """Recognise the archive by the columns of a thread around its messages."""
        return {"id", "data_type", "messages", "updated_at"} <= probe.first.keys()

    def read(self, data: bytes) -> ParsedArchive:
        return read_messages(data, "messages", _MESSAGES, _read, _begin)


def _begin(talk: Conversation, fields: dict[str, Any]) -> None:
    talk.started_by = text_of(fields.get("parent_id"))
    talk.is_subagent = fields.get("parent_id") is not None
    folders = fields.get("folder_paths")
    cwd = folders.split("\n")[0] if isinstance(folders, str) else None
    talk.describe(fields.get("id"), cwd, model=at(fields.get("model"), "model"))


def _read(talk: Conversation, row: ZedMessage) -> SkipReason | None:
    if talk.is_subagent:
        return talk.sidechain(lambda run: _read(run, row))
    if row.user is not None:
        texts = [*_texts(row.user.get("content"))]
        return talk.prompt("\n\n".join(texts), row.user.get("id"))
    if row.agent is not None:
        return first_of(_answer(talk, row.agent))
    texts = [*texts_of(objects(row.segments))]
    if row.role == "user":
        return talk.prompt("\n\n".join(texts), None if row.id is None else f"{row.id}")
    uses = objects(row.tool_uses)
    calls = [talk.call(use.get("name"), use.get("input"), use.get("id")) for use in uses]
    results = [_result(talk, result) for result in objects(row.tool_results)]
    return first_of([*map(talk.answer, texts), *calls, *results])


def _texts(content: object) -> Iterator[str]:
    """Yield what the user typed, and what stands for mentions and images."""
    for part in content if isinstance(content, list) else []:
        text = at(part, "Text")
        if isinstance(text, str):
            yield text
        elif at(part, "Image") is not None:
            yield "[image]"
        elif isinstance(uri := at(part, "Mention", "uri"), str):
            yield f"[{uri}]"


def _answer(talk: Conversation, agent: dict[str, Any]) -> Iterator[SkipReason | None]:
    for part in objects(agent.get("content")):
        if (use := part.get("ToolUse")) is not None:
            arguments = at(use, "input")
            value = at(arguments, "value") if at(arguments, "type") == "json" else arguments
            yield talk.call(at(use, "name"), value, at(use, "id"))
        elif "Text" in part:
            yield talk.answer(part["Text"])
        else:
            yield SkipReason.REASONING
    results = agent.get("tool_results")
    for result in objects([*results.values()]) if isinstance(results, dict) else []:
        yield _result(talk, result)


def _result(talk: Conversation, result: dict[str, Any]) -> SkipReason | None:
    content = result.get("content")
    parts = content if isinstance(content, list) else [content]
    output = "\n".join(as_text(at(part, "Text") or part) for part in parts if part is not None)
    is_error = result.get("is_error") is True
    return talk.result(result.get("tool_use_id"), output, is_error=is_error)
