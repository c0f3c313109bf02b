"""One conversation: its turns, message by message."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from turnetl.formats.base import ParseCounts, RawToolCall, RawTurn, SourceSpan
from turnetl.formats.chat import message_content
from turnetl.formats.chat.roles import Speaker
from turnetl.formats.chat.rows import Message
from turnetl.formats.kit.times import parse_timestamp
from turnetl.formats.kit.tool_input import compact_json, format_input
from turnetl.model import ClosedBy, SessionId
from turnetl.skip_reasons import SkipReason

_NOBODY = SessionId("")


@dataclass(slots=True)
class Talk:
    """Takes the messages of one conversation in order. Names are given to its turns afterwards."""

    counts: ParseCounts
    time: datetime | None = None
    """The last one known, first the conversation's own: a turn without one has the one before."""
    model: str | None = None
    turns: list[RawTurn] = field(default_factory=list)
    _waiting: list[tuple[str | None, RawToolCall]] = field(default_factory=list)
    """Calls without an outcome, by their keys, in order."""
    _told: bool = False
    """Whether an outcome came since the last call."""

    def say(self, message: Message, place: SourceSpan) -> SkipReason | None:
        """Take a message; return the reason if it gave nothing to a turn."""
        speaker = message.speaker
        if speaker is Speaker.PERSON and message_content.is_prompt(message):
            self._prompt(message, place)
            return None
        if speaker is None or speaker is Speaker.SYSTEM:
            return SkipReason.SYSTEM if speaker else SkipReason.OTHER
        asked = (message_content.called if speaker is Speaker.CALL else message_content.calls)(
            message
        )
        self.counts.tool_calls += len(asked)
        if not self.turns:
            return SkipReason.PREAMBLE
        turn = self.turns[-1]
        self._touch(turn, message, place)
        if speaker is Speaker.MODEL:
            self._answer(turn, message)
        elif speaker is Speaker.TOOL:
            self._outcome(turn, message)
        elif speaker is Speaker.PERSON:
            self._results(turn, message)
        if asked:
            self._ask(turn, asked)
        return None

    def _prompt(self, message: Message, place: SourceSpan) -> None:
        """Start a turn, and end the one before it."""
        if self.turns:
            self.turns[-1].closed_by = ClosedBy.NEXT_PROMPT
        if self._waiting:
            self._forget()
        said = message.words
        turn = RawTurn(
            native_id="",
            session_id=_NOBODY,
            ordinal=len(self.turns),
            user_text=said if isinstance(said, str) else "\n\n".join(message_content.texts(said)),
            first_line=place.line,
            last_line=place.last_line,
            first_byte=place.start,
            last_byte=place.end,
            prompt_id=message.id if isinstance(message.id, str) else None,
            model=self.model,
        )
        self._touch(turn, message, place)
        turn.started_at = self.time
        self.turns.append(turn)

    def _answer(self, turn: RawTurn, message: Message) -> None:
        turn.assistant_texts += message_content.spoken(message.words)
        if message.refusal:
            turn.assistant_texts.append(message.refusal)
        if message.model:
            turn.model = message.model
        if self._told:
            self._forget()

    def _ask(self, turn: RawTurn, asked: Sequence[message_content.Asked]) -> None:
        if self._told:
            self._forget()
        for one in asked:
            arguments = one.arguments
            tool = RawToolCall(one.name, format_input(message_content.decoded(arguments)))
            turn.tool_calls.append(tool)
            turn.input_chars += len(
                arguments if isinstance(arguments, str) else compact_json(arguments)
            )
            self._waiting.append((one.key, tool))

    def _results(self, turn: RawTurn, message: Message) -> None:
        """Take the outcomes that stand in a person's message, and the words beside them."""
        said = message_content.spoken(message.words)
        self.counts.steering += len(said)
        turn.steering += said
        for result in message_content.results(message):
            outcome = message_content.flat(result.get("content"))
            tool = self._called(turn, result.get("tool_use_id"), message)
            self._tell(tool, outcome, message, is_error=result.get("is_error") is True)

    def _outcome(self, turn: RawTurn, message: Message) -> None:
        outcome = message_content.flat(message.words)
        for share in self._shares(message, outcome) or [outcome]:
            tool = self._called(turn, message.tool_call_id, message)
            self._tell(tool, share, message, is_error=message.is_error is True)

    def _shares(self, message: Message, outcome: str) -> list[str]:
        """Return the outcome of each waiting call, if one message without a key holds them all."""
        if message.tool_call_id is not None or len(self._waiting) < 2:  # noqa: PLR2004  several
            return []
        found = message_content.decoded(outcome)
        if not isinstance(found, list) or len(found) != len(self._waiting):
            return []
        return [message_content.share(one) for one in found]

    def _tell(self, tool: RawToolCall, outcome: str, message: Message, *, is_error: bool) -> None:
        self._told = True
        tool.result, tool.is_error, tool.ended_at = outcome, is_error, parse_timestamp(message.time)

    def _called(self, turn: RawTurn, key: object, message: Message) -> RawToolCall:
        """Return the waiting call that an outcome names, else the first that fits.

        What was called in a way that is not known, such as in the text of an answer, is a call of
        which only the outcome is known.
        """
        at = self._where(key, message)
        if at is not None:
            return self._waiting.pop(at)[1]
        tool = RawToolCall(message.name or message.role or message.sender or "", "")
        turn.tool_calls.append(tool)
        return tool

    def _where(self, key: object, message: Message) -> int | None:
        """Return the place of the first waiting call that fits: mostly it is the first of all."""
        waiting = enumerate(self._waiting)
        if key is not None:
            return next((at for at, one in waiting if one[0] == key), None)
        named = (at for at, one in waiting if one[1].name == message.name)
        return next(named, 0 if self._waiting else None)

    def _forget(self) -> None:
        """Let go of the calls without a key that got no outcome when others got theirs."""
        self._waiting = [one for one in self._waiting if one[0] is not None]
        self._told = False

    def _touch(self, turn: RawTurn, message: Message, place: SourceSpan) -> None:
        turn.last_line, turn.last_byte = place.last_line, place.end
        written = message.time
        if written is not None and (time := parse_timestamp(written)) is not None:
            self.time = turn.ended_at = time
