"""The turns of one conversation: its messages in the order of time, each with its parts.

An answer names the prompt it is for, and files may be in any order, so that the prompts are found
first. A prompt that was typed while the agent works is a message like any other, and a turn.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from turnetl.formats.base import Counts, Place, RawTurn, ToolUse
from turnetl.formats.kit.calls import call, compact
from turnetl.formats.opencode import words
from turnetl.formats.opencode.messages import Message, folder, when
from turnetl.formats.opencode.rows import Info, Part, Session, State
from turnetl.model import ClosedBy, SessionId

_SUBAGENTS = ("task",)
_GOES_ON = ("tool-calls", "unknown")
_ENDS = {
    "succeeded": ClosedBy.SESSION_END,
    "failed": ClosedBy.INTERRUPTED,
    "interrupted": ClosedBy.INTERRUPTED,
}
_SILENT = {
    "reasoning": "thinking",
    "step-start": "step",
    "step-finish": "step",
    "patch": "snapshot",
    "snapshot": "snapshot",
    "compaction": "compaction",
    "retry": "retry",
}

Verdicts = dict[int, str | None]
"""What became of what stands at an offset: None if it gave something to a turn, else why not."""


@dataclass(slots=True)
class Conversation:
    """Reads the messages of one session."""

    session: Session
    counts: Counts
    verdicts: Verdicts
    turns: list[RawTurn] = field(default_factory=list)
    _owners: dict[str, RawTurn | str | None] = field(default_factory=dict)
    """The turn that answers to a message belong to, or in a word why to none."""
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
        for message, turn in zip(ordered, before, strict=True):
            if message.info.role != "user":
                self._answer(message, self._owners.get(message.info.parent_id or "", turn))
        for turn in self.turns[:-1]:
            if turn.closed_by is not ClosedBy.INTERRUPTED:
                turn.closed_by = ClosedBy.NEXT_PROMPT

    def _sidechain(self, message: Message) -> None:
        self.counts.sidechain_rows += 1
        self._skip(message, "sidechain")

    def _skip(self, message: Message, reason: str) -> None:
        self.counts.tool_uses += sum(part.type == "tool" for part in message.pieces)
        for place in (message.place, *(place for _, place in message.parts)):
            self._note(place, reason)

    def _note(self, place: Place, reason: str | None) -> None:
        """Note what became of a place; what gave something to a turn stays used."""
        if reason is None:
            self.verdicts[place.start] = None
        else:
            self.verdicts.setdefault(place.start, reason)

    def _begin(self, message: Message) -> RawTurn | None:
        """Begin a turn if a person wrote the message; return the turn that it is in."""
        turn = self.turns[-1] if self.turns else None
        if message.info.role != "user":
            return turn
        parts = message.pieces
        text = words.prompt(parts)
        owner: RawTurn | str | None = turn
        if text is None:
            reason = words.machine(parts)
            self._skip(message, reason)
            owner = reason if reason == "shell" else turn
            self._was_cut = self._was_cut or any(part.overflow for part in parts)
        elif turn is not None and self._was_cut and words.is_repeated(text, turn.user_text):
            self._skip(message, "repeated")
            self._was_cut = False
        else:
            owner = turn = self._prompt(message, text)
            self._was_cut = False
        if message.info.id:
            self._owners[message.info.id] = owner
        return turn

    def _prompt(self, message: Message, text: str) -> RawTurn:
        info, place, session = message.info, message.place, self.session
        of = info.session_id or session.id or ""
        turn = RawTurn(
            native=_native(info, of),
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
            model=_model(info),
            cwd=session.directory or folder(session.location),
            app_version=session.version,
        )
        self._touch(turn, message)
        self._note(place, None)
        for part, at in message.parts:
            self._note(at, "synthetic" if part.synthetic or part.ignored else None)
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

    def _answer(self, message: Message, turn: RawTurn | str | None) -> None:
        info = message.info
        if not isinstance(turn, RawTurn):
            self._skip(message, turn or "preamble")
        elif info.summary is True or info.role == "compaction":
            self._bill(turn, message)
            self._skip(message, "compaction")
        elif info.role == "assistant":
            self._say(message, turn)
        elif (ended := _ENDS.get(info.finish or "")) is not None and info.role == "idle":
            turn.closed_by = ended
            self._touch(turn, message)
            self._note(message.place, None)
        else:
            self._skip(message, "shell" if info.role == "shell" else "other")

    def _say(self, message: Message, turn: RawTurn) -> None:
        info = message.info
        self._touch(turn, message)
        self._note(message.place, None)
        turn.model = _model(info) or turn.model
        for part, place in message.parts:
            self._note(place, self._piece(part, turn))
        self._bill(turn, message)
        turn.closed_by = _closed(info, message.pieces)

    def _piece(self, part: Part, turn: RawTurn) -> str | None:
        if part.type == "tool":
            self._use(part, turn)
            return None
        if part.type != "text":
            return _SILENT.get(part.type or "", "other")
        if part.synthetic or part.ignored:
            return "synthetic"
        if not part.text or not part.text.strip():
            return "no_words"
        turn.said.append(part.text)
        return None

    def _use(self, part: Part, turn: RawTurn) -> None:
        state = part.state or State()
        tool = ToolUse(
            name=part.tool or part.name or "",
            input=call(state.input),
            outcome=_outcome(state),
            is_error=state.status == "error",
            ended_at=when(state.time.end) if state.time is not None else None,
        )
        turn.tools.append(tool)
        turn.input_chars += len(compact(state.input)) if state.input is not None else 0
        self.counts.tool_uses += 1
        if (said := words.answer(state)) is not None:
            turn.answers.append(said)
            self.counts.answers += 1
        if tool.name in _SUBAGENTS and isinstance(state.input, dict):
            prompt = state.input.get("prompt")
            turn.subagents += [prompt] if isinstance(prompt, str) else []

    def _bill(self, turn: RawTurn, message: Message) -> None:
        """Count each request to the model once: a message is one, or a step of it."""
        key = message.info.id or f"at {message.place.start}"
        steps = [part.tokens for part in message.pieces if part.type == "step-finish"]
        billed = steps if any(steps) else [message.info.tokens]
        for number, tokens in enumerate(billed):
            if tokens is not None:
                turn.usage[f"{key}:{number}"] = (tokens.input or 0, tokens.output or 0)


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


def _model(info: Info) -> str | None:
    model = info.model
    return info.model_id or (model and (model.model_id or model.id)) or None


def _closed(info: Info, parts: Iterable[Part]) -> ClosedBy | None:
    """Return what ended the turn, if this is its last message: the agent goes on after a call."""
    if info.error is not None:
        return ClosedBy.INTERRUPTED
    completed = info.time is not None and info.time.completed is not None
    if not completed or info.finish is None or info.finish in _GOES_ON:
        return None
    return None if any(part.type == "tool" for part in parts) else ClosedBy.SESSION_END


def _outcome(state: State) -> str:
    result = state.error if state.status == "error" else state.output
    if result is None:
        return ""
    return result if isinstance(result, str) else compact(result)
