"""The turns of one conversation, built message by message."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from turnetl.base.reason import SkipReason
from turnetl.formats.chat import rows
from turnetl.formats.chat.rows import ChatLogMessage, Speaker
from turnetl.formats.kit.times import parse_timestamp
from turnetl.formats.kit.tool_input import compact_json, format_input
from turnetl.formats.kit.turn_builder import TurnBuilder, extend
from turnetl.formats.port import RawToolCall, RawTurn, SourceSpan

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
        """Return the pending call that a result names, else the first that fits.

        A call made in an unknown way, such as in the text of a response, is a call of which only
        the result is known.
        """
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
