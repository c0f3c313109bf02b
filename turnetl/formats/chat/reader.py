"""Readers of chats: conversations in OpenAI's messages, and in the form of ShareGPT.

An archive has `{"messages": [{"role", "content"}]}`, or `{"conversations": [{"from", "value"}]}`,
once per line, once per array element or as one document; or rows `{"role", "content"}`, which form
one conversation; or pairs of responses of which one is preferred.

Datasets often count conversations from 0: a digest is the id of a session. Its input must never
change, because every id would change.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, islice, repeat

from turnetl.base.model import SessionId
from turnetl.base.reason import SkipReason
from turnetl.formats.chat import rows
from turnetl.formats.chat.rows import (
    LISTS,
    OPENAI,
    RESPONSES,
    ROWS,
    SHAREGPT,
    ChatLogMessage,
    ChatLogRow,
    Speaker,
    encoded_messages,
    id_of,
    is_prompt,
    messages_of,
    response_of,
)
from turnetl.formats.kit.json_archives import (
    is_document,
    overwrite_message,
    parse_document,
    read_elements,
    read_lines,
)
from turnetl.formats.kit.probe import LazyObject
from turnetl.formats.kit.times import parse_timestamp
from turnetl.formats.kit.tool_input import compact_json, encoded_json, format_input
from turnetl.formats.kit.turn_builder import TurnBuilder, derived_session_id, extend
from turnetl.formats.port import ParseCounts, ParsedArchive, Probe, RawToolCall, RawTurn, SourceSpan

_LIST = re.compile(rf'"({"|".join(LISTS)})"\s*:\s*\['.encode())

_NEEDLE = 16
"""Bytes of a message that are searched for to locate it."""


class OpenAIConversations:
    def sniff(self, probe: Probe) -> bool:
        return _OPENAI_SHAPE.matches(probe)

    def read(self, data: bytes) -> ParsedArchive:
        return read_chats(data)


class ShareGPT:
    def sniff(self, probe: Probe) -> bool:
        return _SHAREGPT_SHAPE.matches(probe)

    def read(self, data: bytes) -> ParsedArchive:
        return read_chats(data)


def read_chats(data: bytes) -> ParsedArchive:
    if not is_document(data):
        # A program that appends lines ends each of them. A single line without a newline was saved
        # at once.
        reader = ChatLogReader(data, may_grow=not data.endswith(b"\n"))
        read_lines(data, ROWS, reader.read, reader.counts)
        return reader.finish()
    reader = ChatLogReader(data, may_grow=not overwrite_message(data).lstrip().startswith(b"["))
    document = parse_document(data, _list_key(data) if reader.may_grow else None)
    reader.root = _root(document.fields)
    read_elements(data, document, ROWS, reader.read, reader.counts)
    return reader.finish()


# Bound once: access through the class of an enum is slow.
_SYSTEM, _USER, _ASSISTANT = Speaker.SYSTEM, Speaker.USER, Speaker.ASSISTANT
_TOOL_CALL, _TOOL = Speaker.TOOL_CALL, Speaker.TOOL


@dataclass(slots=True)
class ChatConversation:
    """Reads the messages of one conversation in order. Ids are assigned afterwards."""

    builder: TurnBuilder
    time: datetime | None = None
    """The last known time, at first the conversation's own: the start of a turn without a time."""
    model: str | None = None
    messages: list[ChatLogMessage] = field(default_factory=list)
    _pending: list[tuple[str | None, RawToolCall]] = field(default_factory=list)
    """Calls without a result, each with its key, in order."""
    _has_result: bool = False
    """Whether a result came after the last call."""

    def read(self, message: ChatLogMessage, span: SourceSpan) -> SkipReason | None:
        self.messages.append(message)
        speaker = message.speaker
        if speaker is _USER and rows.is_prompt(message):
            self._read_prompt(message, span)
            return None
        if speaker is None or speaker is _SYSTEM:
            return SkipReason.SYSTEM if speaker else SkipReason.OTHER
        is_call = speaker is _TOOL_CALL
        calls = (rows.standalone_calls if is_call else rows.message_calls)(message)
        turn = self.builder.turns[-1] if self.builder.turns else None
        if turn is None:
            self.builder.counts.tool_calls += len(calls)
            return SkipReason.PREAMBLE
        self._extend(turn, message, span)
        if speaker is _ASSISTANT:
            self._read_texts(turn, message)
        elif speaker is _TOOL:
            self._read_result(turn, message)
        elif speaker is _USER:
            self._read_user_results(turn, message)
        if calls:
            self._read_calls(turn, calls)
        return None

    def _read_prompt(self, message: ChatLogMessage, span: SourceSpan) -> None:
        if self._pending:
            self._drop_calls_without_result()
        body, id_ = message.body, message.id
        turn = self.builder.open(
            body if isinstance(body, str) else "\n\n".join(rows.message_texts(body)),
            span,
            prompt_id=id_ if isinstance(id_, str) else None,
            previous=self.builder.current,
        )
        turn.model = self.model
        self._extend(turn, message, span)
        turn.started_at = self.time

    def _read_texts(self, turn: RawTurn, message: ChatLogMessage) -> None:
        turn.assistant_texts += rows.nonblank_texts(message.body)
        if message.refusal:
            turn.assistant_texts.append(message.refusal)
        if message.model:
            turn.model = message.model
        if self._has_result:
            self._drop_calls_without_result()

    def _read_calls(self, turn: RawTurn, calls: Sequence[rows.MessageCall]) -> None:
        if self._has_result:
            self._drop_calls_without_result()
        for call in calls:
            arguments = rows.decoded_json(call.arguments)
            raw = RawToolCall(call.name, format_input(arguments), arguments=arguments)
            recorded = call.arguments
            encoded = recorded if isinstance(recorded, str) else compact_json(recorded)
            self.builder.add_call(turn, raw, len(encoded))
            self._pending.append((call.key, raw))

    def _read_user_results(self, turn: RawTurn, message: ChatLogMessage) -> None:
        self.builder.add_steering(turn, rows.nonblank_texts(message.body))
        for result in rows.tool_results(message):
            text = rows.joined_texts(result.get("content"))
            call = self._called(turn, result.get("tool_use_id"), message)
            self._complete(call, text, message, is_error=result.get("is_error") is True)

    def _read_result(self, turn: RawTurn, message: ChatLogMessage) -> None:
        text = rows.joined_texts(message.body)
        for result in self._listed_results(message, text) or [text]:
            call = self._called(turn, message.tool_call_id, message)
            self._complete(call, result, message, is_error=message.is_error is True)

    def _listed_results(self, message: ChatLogMessage, text: str) -> list[str]:
        """Return the result of each pending call, if one message without a key has them all."""
        if message.tool_call_id is not None or len(self._pending) < 2:  # noqa: PLR2004  several
            return []
        results = rows.decoded_json(text)
        if not isinstance(results, list) or len(results) != len(self._pending):
            return []
        return [rows.listed_result(result) for result in results]

    def _complete(
        self, call: RawToolCall, result: str, message: ChatLogMessage, *, is_error: bool
    ) -> None:
        self._has_result = True
        call.result, call.is_error, call.ended_at = result, is_error, parse_timestamp(message.time)

    def _called(self, turn: RawTurn, key: object, message: ChatLogMessage) -> RawToolCall:
        """Return the pending call that a result names, else one that fits, else an unknown one."""
        position = self._position(key, message)
        if position is not None:
            return self._pending.pop(position)[1]
        call = RawToolCall(message.name or message.role or message.sender or "", "")
        turn.tool_calls.append(call)
        return call

    def _position(self, key: object, message: ChatLogMessage) -> int | None:
        """Return the position of the first pending call that fits, usually the first of all."""
        pending = enumerate(self._pending)
        if key is not None:
            return next((position for position, (other, _) in pending if other == key), None)
        same_name = (position for position, (_, call) in pending if call.name == message.name)
        return next(same_name, 0 if self._pending else None)

    def _drop_calls_without_result(self) -> None:
        """Drop the pending calls without a key: other calls got results and these did not."""
        self._pending = [(key, call) for key, call in self._pending if key is not None]
        self._has_result = False

    def _extend(self, turn: RawTurn, message: ChatLogMessage, span: SourceSpan) -> None:
        written_at = message.time
        if written_at is None:
            extend(turn, span)
            return
        time = parse_timestamp(written_at)
        extend(turn, span, time)
        self.time = time or self.time


@dataclass(slots=True)
class ChatLogReader:
    data: bytes
    may_grow: bool
    """Whether a conversation that is alone in the archive may still grow."""
    counts: ParseCounts = field(default_factory=ParseCounts)
    root: ChatLogRow = field(default_factory=ChatLogRow)
    """The fields beside the messages, if the archive is a document of one conversation."""
    _complete: list[tuple[str, ChatConversation]] = field(default_factory=list)
    """Conversations that are one row each, with their own ids."""
    _by_rows: dict[str, tuple[str, ChatConversation]] = field(default_factory=dict)
    """Conversations whose messages are rows, by the id in the rows, with their own ids."""

    def read(self, row: ChatLogRow, span: SourceSpan) -> SkipReason | None:
        if row.role or row.sender:
            return self._read_message(row, span)
        messages = messages_of(row)
        if not messages:
            return SkipReason.NO_MESSAGES
        conversation = self._conversation(row)
        self._complete.append((id_of(row), conversation))
        for message, message_span in zip(messages, self._spans(span, len(messages)), strict=True):
            conversation.read(message, message_span)
        return None if conversation.builder.turns else SkipReason.PREAMBLE

    def finish(self) -> ParsedArchive:
        self._read_root_response()
        alone = self.may_grow and len(self._complete) == 1 and not self._by_rows
        conversations = [*self._complete, *self._by_rows.values()]
        seen: Counter[str] = Counter()
        for own_id, complete in [] if alone else self._complete:
            assign_complete_ids(own_id, complete.messages, complete.builder.turns, seen)
        for own_id, growing in conversations if alone else self._by_rows.values():
            assign_growing_ids(own_id, growing.messages, growing.builder.turns)
        turns = [turn for _, conversation in conversations for turn in conversation.builder.turns]
        self.counts.turns = len(turns)
        return ParsedArchive(turns, self.counts, None)

    def _conversation(self, row: ChatLogRow) -> ChatConversation:
        return ChatConversation(TurnBuilder(self.counts), parse_timestamp(row.time), row.model)

    def _read_message(self, row: ChatLogRow, span: SourceSpan) -> SkipReason | None:
        own_id = row.conversation_id if row.conversation_id is not None else row.session_id
        key = "" if own_id is None else str(own_id)
        if key not in self._by_rows:
            self._by_rows[key] = key or id_of(self.root), self._conversation(self.root)
        return self._by_rows[key][1].read(row, span)

    def _read_root_response(self) -> None:
        if "" not in self._by_rows:
            return
        _, conversation = self._by_rows[""]
        span = SourceSpan(1, self.data.count(b"\n") + 1, 0, len(self.data))
        for message in response_of(self.root, conversation.messages):
            conversation.read(message, span)

    def _spans(self, span: SourceSpan, number: int) -> Iterator[SourceSpan]:
        """Yield the span of each message. In a conversation of several lines they differ."""
        if span.line == span.last_line:
            return repeat(span, number)
        spans = _message_spans(self.data[span.start : span.end], span)
        spans = spans if len(spans) <= number else []
        return chain(spans, repeat(span, number - len(spans)))


def _message_spans(raw: bytes, conversation: SourceSpan) -> list[SourceSpan]:
    spans: list[SourceSpan] = []
    line, end = conversation.line, 0
    for message in encoded_messages(raw):
        # From the second message on, only a separator precedes it: its start is enough, and the
        # search for a long text prepares a table.
        start = raw.find(message[:_NEEDLE] if end else message, end)
        line += raw.count(b"\n", end, start)
        last, end = line + message.count(b"\n"), start + len(message)
        spans.append(SourceSpan(line, last, conversation.start + start, conversation.start + end))
        line = last
    return spans


def _list_key(data: bytes) -> str | None:
    match = _LIST.search(data)
    return match[1].decode() if match is not None else None


def _root(fields: Mapping[str, bytes]) -> ChatLogRow:
    encoded = b",".join(b'"%s":%s' % (name.encode(), raw) for name, raw in fields.items())
    return ROWS.decode_first(b"{%s}" % encoded) or ChatLogRow()


def assign_complete_ids(
    own_id: str, messages: Sequence[ChatLogMessage], turns: Iterable[RawTurn], seen: Counter[str]
) -> None:
    """Identify a conversation that is written once by all messages; `seen` counts equal ones."""
    name = derived_session_id(own_id, encoded_json([_identity(message) for message in messages]))
    before, seen[name] = seen[name], seen[name] + 1
    session = SessionId(derived_session_id(name, str(before)) if before else name)
    for turn in turns:
        turn.session_id = session
        turn.native_id = f"{session}:{turn.ordinal}"


def assign_growing_ids(
    own_id: str, messages: Sequence[ChatLogMessage], turns: Sequence[RawTurn]
) -> None:
    """Identify a conversation that may still grow by its messages up to the first response.

    Two conversations that start alike get one id. Each turn is identified by all messages up to its
    prompt. `own_id` is the conversation's id in its archive, or empty.
    """
    encoded = [encoded_json(_identity(message)) for message in messages]
    start = encoded[: _first_response_end(messages)]
    session = SessionId(derived_session_id(own_id, *start))
    prompts = [
        index
        for index, message in enumerate(messages)
        if message.speaker is Speaker.USER and is_prompt(message)
    ]
    digest, digested = "", 0
    for prompt, turn in zip(prompts, turns, strict=True):
        digest = derived_session_id(digest, *encoded[digested : prompt + 1])
        digested = prompt + 1
        turn.session_id = session
        turn.native_id = f"{session}:{digest}"


def _identity(message: ChatLogMessage) -> tuple[object, ...]:
    content = message.content
    return (
        message.role or message.sender,
        content if content is not None else message.body,
        message.tool_calls,
        message.function_call,
        message.tool_call_id,
    )


def _first_response_end(messages: Sequence[ChatLogMessage]) -> int:
    """Return the number of messages up to and including the first response to a prompt."""
    has_prompt = False
    for number, message in enumerate(messages, 1):
        has_prompt = has_prompt or message.speaker is Speaker.USER
        if has_prompt and message.speaker in (Speaker.ASSISTANT, Speaker.TOOL_CALL):
            return number
    return len(messages)


_ROWS = 16
_MESSAGES = 16
"""Rows, and messages of each row, that are examined: other formats differ from the start."""
_ROWS_PER_MISMATCH = 8
"""At least this many rows per row of another shape: rows of a long file can be damaged."""
_REQUESTS = (
    *("request", "response", "choices", "output"),
    *("max_tokens", "max_completion_tokens", "stream"),
)
"""Keys beside the messages in logs of model requests: each request repeats the conversation."""
_EDITOR = re.compile(
    r"^<environment_details>|^\[[a-z_]+(?: for [^\n]*)?\] Result:"
    r"|^<(?:attempt_completion|ask_followup_question|read_file|write_to_file|execute_command"
    r"|replace_in_file|apply_diff|search_files|list_files)>\s*<",
    re.MULTILINE,
)
"""What an editor's agent writes under the user's role, and calls of its tools in texts."""
_OTHER_TOOLS = frozenset(
    {
        *("toolCall", "toolCalls", "toolCallId", "toolInvocations", "functionCall", "tool-call"),
        *("toolUse", "toolUseID", "toolRequest", "toolResponse", "functionResponse"),
        *("toolResult", "toolResults", "tool-result"),
    }
)
"""Keys and types that other tools write under the same roles: their calls would be lost."""


@dataclass(frozen=True, slots=True)
class _ChatShape:
    """The shape of the messages of one format."""

    speaker_key: str
    speakers: frozenset[str]
    body_keys: tuple[str, ...]
    rows: bool = False
    """Whether a message may be a row of its own."""

    def matches(self, probe: Probe) -> bool:
        """Return whether almost all rows are conversations of this shape."""
        messages = [self._messages(row) for row in islice(probe.rows, _ROWS)]
        matching = [self._has_shape(of_row) for of_row in messages]
        if not any(matching) or matching.count(None) * _ROWS_PER_MISMATCH > len(matching):
            return False
        examined = [message for of_row in messages for message in of_row or ()]
        texts = chain.from_iterable(map(_texts, examined))
        return not any(map(_EDITOR.search, texts)) and not any(map(_is_from_other_tool, examined))

    def _messages(self, row: LazyObject) -> list[LazyObject] | None:
        """Return the first messages in a row, or the row if it is a message; None if neither."""
        if self.rows and self.speaker_key in row:
            return [row] if "type" not in row else None
        lists = [row.objects_at(key) for key in (*LISTS, *RESPONSES) if key in row]
        if "preferred_output" in row and (nested := row.object_at("input")) is not None:
            lists.append(nested.objects_at("messages"))
        if not lists or any(key in row for key in _REQUESTS):
            return None
        return [message for messages in lists for message in messages[:_MESSAGES]]

    def _has_shape(self, messages: list[LazyObject] | None) -> bool | None:
        """Return whether a row has messages; None if it has another shape."""
        if messages is None or not all(map(self._is_message, messages)):
            return None
        return bool(messages)

    def _is_message(self, message: LazyObject) -> bool:
        speaker = message.get(self.speaker_key)
        known = isinstance(speaker, str) and speaker in self.speakers
        return known and any(key in message for key in self.body_keys)


def _is_from_other_tool(message: LazyObject) -> bool:
    parts = (message, *message.objects_at("content"))
    return any(not _OTHER_TOOLS.isdisjoint((*one, str(one.get("type")))) for one in parts)


def _texts(row: LazyObject) -> Iterator[str]:
    texts = (row.get("content"), *(part.get("text") for part in row.objects_at("content")))
    return (text for text in texts if isinstance(text, str))


_OPENAI_SHAPE = _ChatShape(
    "role", frozenset(OPENAI), ("content", "tool_calls", "function_call"), rows=True
)
_SHAREGPT_SHAPE = _ChatShape("from", frozenset(SHAREGPT), ("value", "content", "text", "arguments"))
