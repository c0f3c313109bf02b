"""Sessions, messages and parts as an archive holds them, in any order, and what they come to."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from turnetl.formats.base import ParseCounts, ParsedArchive, RawTurn, SourceSpan
from turnetl.formats.kit.session_ids import assign_session_ids
from turnetl.formats.opencode.conversation import Conversation, Verdicts
from turnetl.formats.opencode.messages import Message, folder
from turnetl.formats.opencode.rows import Part, Session
from turnetl.skip_reasons import SkipReason


@dataclass(slots=True)
class Collected:
    """Is filled row by row; `reading` comes last."""

    counts: ParseCounts = field(default_factory=ParseCounts)
    own: Session = field(default_factory=Session)
    """The session of messages whose own is not here."""
    places: list[SourceSpan] = field(default_factory=list)
    """Of all that was found, in order."""
    verdicts: Verdicts = field(default_factory=dict)
    _sessions: dict[str, Session] = field(default_factory=dict)
    _messages: list[Message] = field(default_factory=list)
    _named: dict[str, Message] = field(default_factory=dict)
    _parts: list[tuple[Part, SourceSpan]] = field(default_factory=list)

    def add_session(self, session: Session, place: SourceSpan) -> None:
        self.verdicts[place.start] = SkipReason.ENVELOPE
        self._sessions.setdefault(session.id or "", session)

    def add_message(self, message: Message) -> None:
        if message.info.id is None:
            self._messages.append(message)
        elif message.info.id in self._named:
            self.verdicts.setdefault(message.place.start, SkipReason.DUPLICATE)
        else:
            self._named[message.info.id] = message
            self._messages.append(message)

    def add_part(self, part: Part, place: SourceSpan) -> None:
        self._parts.append((part, place))

    def reading(self) -> ParsedArchive:
        self._give_parts()
        turns = [turn for conversation in self._conversations() for turn in conversation]
        assign_session_ids(turns, self.own.id)
        self.counts.turns = len(turns)
        return ParsedArchive(turns, self.counts, self._cwd())

    def _give_parts(self) -> None:
        """Give each part to its message; a part comes once."""
        seen: set[str] = set()
        for part, place in self._parts:
            message = self._named.get(part.message_id or "")
            if message is None:
                self.verdicts[place.start] = SkipReason.ORPHAN
                self.counts.tool_calls += part.type == "tool"
            elif part.id in seen:
                self.verdicts.setdefault(place.start, SkipReason.DUPLICATE)
            else:
                message.parts.append((part, place))
            if part.id is not None:
                seen.add(part.id)

    def _conversations(self) -> Iterator[list[RawTurn]]:
        sessions: dict[str, list[Message]] = {}
        for message in self._messages:
            sessions.setdefault(message.info.session_id or self.own.id or "", []).append(message)
        for name, messages in sessions.items():
            session = self._sessions.get(name, self.own)
            conversation = Conversation(session, self.counts, self.verdicts)
            conversation.read(messages)
            yield conversation.turns

    def _cwd(self) -> str | None:
        """Return the first folder that the archive names."""
        sessions = (self.own, *self._sessions.values())
        named = (of.directory or folder(of.location) for of in sessions)
        said = (folder(message.info.path) for message in self._messages)
        return next(filter(None, (*named, *said)), None)
