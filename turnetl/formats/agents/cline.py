"""Tasks of Cline and Roo Code: `api_conversation_history.json`, and Cline's `<id>.messages.json`.

What the user wrote is in tags; the rest of a row of the user is text of the extension. Older
versions write calls as XML into the agent's text, and results as texts after a line that names the
tool.
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec

from turnetl.base.reason import SkipReason
from turnetl.formats.kit.conversation import Conversation
from turnetl.formats.kit.conversation_archives import read_messages
from turnetl.formats.kit.message_parts import (
    at,
    elements,
    first_of,
    objects,
    plain_text,
    text_of,
    texts_of,
    without_elements,
)
from turnetl.formats.kit.row_decoder import Envelope, RowDecoder
from turnetl.formats.kit.times import parse_timestamp
from turnetl.formats.port import ParsedArchive, Probe


class ClineMessage(msgspec.Struct, rename="camel"):
    """A message of the model's API; `ts` is in milliseconds."""

    role: str | None = None
    id: str | None = None
    content: Any = None
    ts: int | float | None = None
    model_info: dict[str, Any] = {}


_MESSAGES = RowDecoder(ClineMessage, Envelope(shared=(("role", "content"),)))
_FIRST = re.compile(r"\s*<(?:task|user_message|feedback)>")
_WORDS = ("task", "feedback", "answer", "user_message", "user_input")
"""Tags around what the user wrote."""
_TAGGED = re.compile(rf"\s*<({'|'.join(_WORDS)})>\n.*\n</\1>\s*", re.DOTALL)
_DETAILS = re.compile(r"<environment_details>.*?(?:</environment_details>|\Z)", re.DOTALL)
_FOLDER = re.compile(r"# Current (?:Working|Workspace) Directory \(([^()\n]+)\)")
_RESULT = re.compile(r"\[(\w+)(?: for [^\n]{0,999}?)?\] Result:\s*")
_EDITOR = re.compile(f"{_RESULT.pattern}|<environment_details>")
_TOOLS = frozenset(
    {
        *("read_file", "write_to_file", "replace_in_file", "search_files", "list_files"),
        *("execute_command", "apply_diff", "insert_content", "search_and_replace", "new_task"),
        *("list_code_definition_names", "codebase_search", "browser_action", "use_mcp_tool"),
        *("access_mcp_resource", "ask_followup_question", "attempt_completion", "switch_mode"),
        *("update_todo_list", "plan_mode_respond"),
    }
)
"""Tags of calls."""
_FAILED = ("The tool execution failed", "<error>", "Error executing")
_DONE = "attempt_completion"
"""A tool after which the user says what is next."""


class Cline:
    def sniff(self, probe: Probe) -> bool:
        """Recognise the archive by its session, or by a task and details of the editor.

        Without details, all that the user sent must be in tags.
        """
        first = probe.first
        if "messages" in first:
            return {"version", "updated_at", "sessionId", "agent"} <= first.keys()
        if first.get("role") != "user" or not any(map(_FIRST.match, _texts(first.get("content")))):
            return False
        sent = [row.get("content") for row in probe.rows if row.get("role") == "user"]
        texts = [text for content in sent for text in _texts(content)]
        is_tagged = isinstance(sent[0], list) and all(map(_TAGGED.fullmatch, texts))
        return is_tagged or any(map(_EDITOR.search, texts))

    def read(self, data: bytes) -> ParsedArchive:
        return read_messages(data, "messages", _MESSAGES, _read, _describe)


def _describe(talk: Conversation, fields: dict[str, Any]) -> None:
    talk.describe(fields.get("sessionId"))
    talk.is_subagent = fields.get("agent") not in (None, "lead")


def _texts(content: object) -> list[str]:
    return [*texts_of(content if isinstance(content, list) else [content])]


def _read(talk: Conversation, message: ClineMessage) -> SkipReason | None:
    talk.time = parse_timestamp(message.ts)
    talk.describe(model=message.model_info.get("id"))
    if talk.is_subagent:
        return talk.sidechain(lambda run: _read_message(run, message))
    return _read_message(talk, message)


def _read_message(talk: Conversation, message: ClineMessage) -> SkipReason | None:
    if message.role == "user":
        return _read_user(talk, message)
    words = partial(without_elements, is_removed=_TOOLS.__contains__)
    reason = talk.content(message.role, message.content, words=words)
    called = [_call(talk, *call) for text in _texts(message.content) for call in _calls(text)]
    done = (part for part in objects(message.content) if part.get("name") == _DONE)
    return first_of([reason, *called, *(talk.answer(at(one, "input", "result")) for one in done)])


def _calls(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    for call in elements(text, _TOOLS.__contains__):
        yield call.tag, {one.tag: one.text for one in elements(call.text, lambda _: True)}


def _call(talk: Conversation, name: str, arguments: dict[str, str]) -> SkipReason | None:
    done = talk.answer(arguments.get("result")) if name == _DONE else None
    return first_of([talk.call(name, arguments, name), done])


def _read_user(talk: Conversation, message: ClineMessage) -> SkipReason | None:
    for folder in filter(None, map(_FOLDER.search, _texts(message.content))):
        talk.describe(cwd=folder[1])
    reasons: list[SkipReason | None] = []
    prompts: list[str] = []
    for tool, text, reason in _results(talk, message.content):
        reasons.append(reason)
        written = [*elements(text, _WORDS.__contains__)]
        for one in written:
            if one.tag == "answer" or (one.tag == "feedback" and tool not in ("", _DONE)):
                talk.builder.add_answer(talk.turn(), text_of(one.text))
            else:
                prompts.append(one.text)
        # The newest version has the words of the user without a tag.
        if talk.session and not tool and not written:
            prompts.append(text)
    if prompts or not reasons:
        text = "\n\n".join(filter(str.strip, prompts))
        reasons.append(talk.prompt(text, message.id, otherwise=SkipReason.CONTEXT))
    return first_of(reasons)


def _results(talk: Conversation, content: object) -> Iterator[tuple[str, str, SkipReason | None]]:
    """Yield each text without the editor's details, the tool that returned it, and its reason."""
    name = ""
    for part in objects(content) if isinstance(content, list) else [{"text": content}]:
        if part.get("type") == "tool_result":
            key = text_of(part.get("tool_use_id")) or ""
            call = talk.builder.calls.get(key)
            output = _plain(plain_text(part.get("content")))
            is_error = part.get("is_error") is True or output.startswith(_FAILED)
            yield call.name if call else key, output, talk.result(key, output, is_error=is_error)
            continue
        text = _plain(part.get("text"))
        if (result := _RESULT.match(text)) is not None:
            name, text = result[1], text[result.end() :]
        if name and text:
            yield name, text, talk.result(name, text, is_error=text.startswith(_FAILED))
        elif text:
            yield "", text, SkipReason.CONTEXT


def _plain(value: object) -> str:
    return _DETAILS.sub("", value).strip() if isinstance(value, str) else ""
