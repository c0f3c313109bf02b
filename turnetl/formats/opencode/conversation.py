"""The turns of one conversation: its messages in the order of time, each with its parts.

An answer names the prompt it is for, and files may be in any order, so that the prompts are found
first. A prompt that was typed while the agent works is a message like any other, and a turn.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from turnetl.formats.base import ParseCounts, RawTurn, SourceSpan
from turnetl.formats.opencode import assistant_metadata, authorship
from turnetl.formats.opencode.messages import Message, folder, when
from turnetl.formats.opencode.rows import Info, Part, Session
from turnetl.model import ClosedBy, SessionId
from turnetl.skip_reasons import SkipReason

_ENDS = {
    "succeeded": ClosedBy.SESSION_END,
    "failed": ClosedBy.INTERRUPTED,
    "interrupted": ClosedBy.INTERRUPTED,
}
_SILENT = {
    "reasoning": SkipReason.REASONING,
    "step-start": SkipReason.STEP,
    "step-finish": SkipReason.STEP,
    "patch": SkipReason.SNAPSHOT,
    "snapshot": SkipReason.SNAPSHOT,
    "compaction": SkipReason.COMPACTION,
    "retry": SkipReason.RETRY,
}

Verdicts = dict[int, SkipReason | None]
"""What became of what stands at an offset: None if it gave something to a turn, else why not."""


_Owner = RawTurn | SkipReason | None
"""The turn that an answer belongs to; else the reason why to none; None before the first prompt."""


@dataclass(slots=True)
class Conversation:
    """Reads the messages of one session."""

    session: Session
    counts: ParseCounts
    verdicts: Verdicts
    turns: list[RawTurn] = field(default_factory=list)
    _owners: dict[str, _Owner] = field(default_factory=dict)
    """Of a person's messages, by their ids."""
    _last: _Owner = None
    """Of the last one: an answer that names none that is here is to that."""
    _was_cut: bool = False
    """Whether a compaction cut the last prompt off, which then comes again."""

    def read(self, messages: Iterable[Message]) -> None:
        """Read the messages, which may be in any order."""
        ordered = _in_time(messages)
        if self.session.parent_id:
            for message in ordered:
                self._sidechain(message)
            return
        before = [self._begin(message) for message in ordered]
        for message, last in zip(ordered, before, strict=True):
            if message.info.role != "user":
                self._answer(message, self._owners.get(message.info.parent_id or "", last))
        for turn in self.turns[:-1]:
            if turn.closed_by is not ClosedBy.INTERRUPTED:
                turn.closed_by = ClosedBy.NEXT_PROMPT

    def _sidechain(self, message: Message) -> None:
        self.counts.sidechain_rows += 1
        self._skip(message, SkipReason.SIDECHAIN)

    def _skip(self, message: Message, reason: SkipReason) -> None:
        self.counts.tool_calls += sum(part.type == "tool" for part in message.pieces)
        for place in (message.place, *(place for _, place in message.parts)):
            self._note(place, reason)

    def _note(self, place: SourceSpan, reason: SkipReason | None) -> None:
        """Note what became of a place; what gave something to a turn stays used."""
        if reason is None:
            self.verdicts[place.start] = None
        else:
            self.verdicts.setdefault(place.start, reason)

    def _begin(self, message: Message) -> _Owner:
        """Begin a turn if a person wrote the message; return what stands behind it belongs to."""
        if message.info.role == "user":
            self._last = self._owner(message)
            if message.info.id:
                self._owners[message.info.id] = self._last
        return self._last

    def _owner(self, message: Message) -> _Owner:
        turn = self.turns[-1] if self.turns else None
        parts = message.pieces
        text = authorship.prompt(parts)
        if text is None:
            reason = authorship.machine(parts)
            self._skip(message, reason)
            self._was_cut = self._was_cut or any(part.overflow for part in parts)
            return reason if reason == SkipReason.SHELL_COMMAND else turn
        was_cut, self._was_cut = self._was_cut, False
        if turn is not None and was_cut and authorship.is_repeated(text, turn.user_text):
            self._skip(message, SkipReason.DUPLICATE)
            return turn
        return self._prompt(message, text)

    def _prompt(self, message: Message, text: str) -> RawTurn:
        info, place, session = message.info, message.place, self.session
        of = info.session_id or session.id or ""
        turn = RawTurn(
            native_id=_native(info, of),
            session_id=SessionId(of),
            ordinal=len(self.turns),
            user_text=text,
            first_line=place.line,
            last_line=place.last_line,
            first_byte=place.start,
            last_byte=place.end,
            prompt_id=info.id,
            parent_session_id=session.fork.session_id if session.fork is not None else None,
            started_at=message.created,
            model=assistant_metadata.model(info),
            cwd=session.directory or folder(session.location),
            app_version=session.version,
        )
        self._touch(turn, message)
        self._note(place, None)
        for part, at in message.parts:
            self._note(at, SkipReason.SYNTHETIC if part.synthetic or part.ignored else None)
        self.turns.append(turn)
        return turn

    def _touch(self, turn: RawTurn, message: Message) -> None:
        info = message.info
        for place in (message.place, *(place for _, place in message.parts)):
            turn.last_line = max(turn.last_line, place.last_line)
            turn.last_byte = max(turn.last_byte, place.end)
        ended = when(info.time.completed) if info.time is not None else None
        times = [time for time in (turn.ended_at, message.created, ended) if time is not None]
        turn.ended_at = max(times, default=None)
        turn.cwd = folder(info.path) or turn.cwd

    def _answer(self, message: Message, turn: _Owner) -> None:
        info = message.info
        if not isinstance(turn, RawTurn):
            self._skip(message, turn or SkipReason.PREAMBLE)
        elif info.summary is True or info.role == "compaction":
            assistant_metadata.bill(message, turn)
            self._skip(message, SkipReason.COMPACTION)
        elif info.role == "assistant":
            self._say(message, turn)
        elif (ended := _ENDS.get(info.finish or "")) is not None and info.role == "idle":
            turn.closed_by = ended
            self._touch(turn, message)
            self._note(message.place, None)
        else:
            self._skip(
                message, SkipReason.SHELL_COMMAND if info.role == "shell" else SkipReason.OTHER
            )

    def _say(self, message: Message, turn: RawTurn) -> None:
        info = message.info
        self._touch(turn, message)
        self._note(message.place, None)
        turn.model = assistant_metadata.model(info) or turn.model
        for part, place in message.parts:
            self._note(place, self._piece(part, turn))
        assistant_metadata.bill(message, turn)
        turn.closed_by = assistant_metadata.ended_by(info, message.pieces)

    def _piece(self, part: Part, turn: RawTurn) -> SkipReason | None:
        if part.type == "tool":
            assistant_metadata.use(part, turn, self.counts)
            return None
        if part.type != "text":
            return _SILENT.get(part.type or "", SkipReason.OTHER)
        if part.synthetic or part.ignored:
            return SkipReason.SYNTHETIC
        if not part.text or not part.text.strip():
            return SkipReason.NO_TEXT
        turn.assistant_texts.append(part.text)
        return None


def _in_time(messages: Iterable[Message]) -> list[Message]:
    """Return the messages by time; one without a time stays behind the one it stands behind."""
    keys: list[float] = []
    found = list(messages)
    for message in found:
        created = message.created
        before = keys[-1] if keys else float("-inf")
        keys.append(created.timestamp() if created is not None else before)
    return [found[place] for place in sorted(range(len(found)), key=keys.__getitem__)]


def _native(info: Info, session: str) -> str:
    """Return what the turn's id is made of: only OpenCode's own ids are nobody else's."""
    if not info.id or info.id.startswith("msg_"):
        return info.id or ""
    return f"{session}:{info.id}"
