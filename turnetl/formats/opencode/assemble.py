"""The sessions, messages and parts of an archive, collected in any order, and their turns."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from turnetl.base.skip_reasons import SkipReason
from turnetl.formats.base import ParseCounts, ParsedArchive, RawTurn, SourceSpan
from turnetl.formats.kit.subagent_messages import SubagentMessages
from turnetl.formats.kit.turn_builder import TurnBuilder
from turnetl.formats.kit.usage import greatest_usage
from turnetl.formats.opencode.conversation import OpenCodeConversation, SkipReasons
from turnetl.formats.opencode.messages import OpenCodeMessage, folder_of
from turnetl.formats.opencode.rows import OpenCodePart, OpenCodeSession


@dataclass(slots=True)
class CollectedMessages:
    """Is filled row by row. `finish` is called last."""

    counts: ParseCounts = field(default_factory=ParseCounts)
    own_session: OpenCodeSession = field(default_factory=OpenCodeSession)
    """The session of messages whose own session is not in the archive."""
    spans: list[SourceSpan] = field(default_factory=list)
    """Spans of all elements, in order."""
    reasons: SkipReasons = field(default_factory=dict)
    _sessions: dict[str, OpenCodeSession] = field(default_factory=dict)
    _messages: list[OpenCodeMessage] = field(default_factory=list)
    _messages_by_id: dict[str, OpenCodeMessage] = field(default_factory=dict)
    _parts: list[tuple[OpenCodePart, SourceSpan]] = field(default_factory=list)
    _subagents: SubagentMessages = field(default_factory=SubagentMessages)

    def add_session(self, session: OpenCodeSession, span: SourceSpan) -> None:
        self.reasons[span.start] = SkipReason.ENVELOPE
        self._sessions.setdefault(session.id or "", session)

    def add_message(self, message: OpenCodeMessage) -> None:
        if message.info.id is None:
            self._messages.append(message)
        elif message.info.id in self._messages_by_id:
            self.reasons.setdefault(message.span.start, SkipReason.DUPLICATE)
            known = self._messages_by_id[message.info.id].info
            known.tokens = greatest_usage(known.tokens, message.info.tokens)
        else:
            self._messages_by_id[message.info.id] = message
            self._messages.append(message)

    def add_part(self, part: OpenCodePart, span: SourceSpan) -> None:
        self._parts.append((part, span))

    def finish(self) -> ParsedArchive:
        self._assign_parts()
        turns = [turn for turns in self._turns() for turn in turns]
        builder = TurnBuilder(self.counts, turns, subagents=self._subagents)
        return builder.finish(self.own_session.id, self._cwd())

    def _assign_parts(self) -> None:
        """Add each part to its message, once."""
        seen: set[str] = set()
        for part, span in self._parts:
            message = self._messages_by_id.get(part.message_id or "")
            if message is None:
                self.reasons[span.start] = SkipReason.ORPHAN
                self.counts.tool_calls += part.type == "tool"
            elif part.id in seen:
                self.reasons.setdefault(span.start, SkipReason.DUPLICATE)
            else:
                message.parts.append((part, span))
            if part.id is not None:
                seen.add(part.id)

    def _turns(self) -> Iterator[list[RawTurn]]:
        """Yield the turns of each session."""
        own_id = self.own_session.id or ""
        by_session: dict[str, list[OpenCodeMessage]] = {}
        for message in self._messages:
            by_session.setdefault(message.info.session_id or own_id, []).append(message)
        for session_id, messages in by_session.items():
            session = self._sessions.get(session_id, self.own_session)
            builder = TurnBuilder(self.counts, subagents=self._subagents)
            OpenCodeConversation(session, builder, self.reasons).read(messages)
            yield builder.turns

    def _cwd(self) -> str | None:
        """Return the first working directory that the archive names."""
        sessions = (self.own_session, *self._sessions.values())
        of_sessions = (session.directory or folder_of(session.location) for session in sessions)
        of_messages = (folder_of(message.info.path) for message in self._messages)
        return next(filter(None, (*of_sessions, *of_messages)), None)
