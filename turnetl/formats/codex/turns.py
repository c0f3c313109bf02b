"""The rows of one Codex rollout, in file order: whose they are and what they say of a turn."""

from dataclasses import dataclass, field
from enum import Enum

from turnetl.formats.base import ParseCounts, ParsedArchive, SourceSpan, parse_time
from turnetl.formats.codex import authorship, events, tools
from turnetl.formats.codex.assistant_text import ITEM
from turnetl.formats.codex.conversation import Conversation
from turnetl.formats.codex.rows import Item, Row, shows_image, texts
from turnetl.formats.kit.session_ids import assign_session_ids
from turnetl.skip_reasons import SkipReason


class Prompts(Enum):
    """What tells a person's words from those that the program puts beside them."""

    EVENTS = b'"user_message"'
    ITEMS = b'"UserMessage"'
    MESSAGES = b""
    """Nothing but the words themselves."""

    @classmethod
    def of(cls, data: bytes) -> "Prompts":
        """Return the surest of the signs that an archive has."""
        return next(sign for sign in cls if sign.value in data)


@dataclass(slots=True)
class Reader:
    """Walks the rows in file order."""

    prompts: Prompts
    talk: Conversation = field(default_factory=Conversation)

    @property
    def counts(self) -> ParseCounts:
        return self.talk.counts

    def take(self, row: Row, place: SourceSpan) -> SkipReason | None:
        """Take what the row holds; return the reason if that is nothing for a turn."""
        item = row if row.payload is None else row.payload
        if _is_session(row):
            return self._session(item)
        if self.talk.sessions.is_subagent:
            return self._sidechain(item)
        if self.talk.sessions.replaying:
            self.talk.sessions.pass_time(parse_time(row.timestamp))
        if row.type == "event_msg":
            return self._event(row, item, place)
        if row.type == "response_item" or row.payload is None:
            return self._item(row, item, place)
        return self._around(row, item, place)

    def reading(self) -> ParsedArchive:
        self.talk.finish()
        self.counts.turns = len(self.talk.turns)
        assign_session_ids(self.talk.turns, self.talk.sessions.own)
        return ParsedArchive(self.talk.turns, self.counts, self.talk.cwd)

    def _session(self, meta: Item) -> SkipReason:
        self.talk.sessions.enter(meta)
        self.talk.see(meta)
        if self.talk.sessions.is_subagent:
            self.counts.sidechain_rows += 1
            return SkipReason.SIDECHAIN
        return SkipReason.SESSION_METADATA

    def _sidechain(self, item: Item) -> SkipReason:
        """Count a row of a subagent's own session: nobody but another agent speaks in it."""
        self.counts.sidechain_rows += 1
        self.counts.tool_calls += tools.is_call(item.type or "")
        return SkipReason.SIDECHAIN

    def _around(self, row: Row, item: Item, place: SourceSpan) -> SkipReason | None:
        if row.type == "token_usage_record" and item.usage is not None:
            return self.talk.bill(item.response_id, item.usage)
        if row.type != "turn_context":
            return SkipReason.COMPACTION if row.type == "compacted" else SkipReason.CONTEXT
        self.talk.see(item)
        if self.talk.fresh is None:
            return SkipReason.CONTEXT
        self.talk.name(item.turn_id)
        return self.talk.touch(row, place)

    def _event(self, row: Row, event: Item, place: SourceSpan) -> SkipReason | None:
        written = event.item is not None and event.item.type == "UserMessage"
        if written and self.prompts is Prompts.ITEMS:
            return events.user_item(self.talk, row, event, place)
        taker = events.EVENTS.get(event.type or "")
        return taker(self.talk, row, event, place) if taker is not None else SkipReason.EVENT

    def _item(self, row: Row, item: Item, place: SourceSpan) -> SkipReason | None:
        kind = item.type or ""
        if row.payload is None and row.timestamp is None:
            self.talk.date(row)
        if kind == "message" or (not kind and item.role is not None):
            return self._message(row, item, place)
        if tools.is_call(kind):
            return self.talk.call(row, item, place)
        if tools.is_outcome(kind):
            return self.talk.result(row, item, place)
        return {"reasoning": SkipReason.REASONING, "": SkipReason.STATE}.get(kind, SkipReason.OTHER)

    def _message(self, row: Row, item: Item, place: SourceSpan) -> SkipReason | None:
        found = [text for text in texts(item.content) if not authorship.is_image_tag(text)]
        if item.role == "assistant":
            return self.talk.answer(row, "\n\n".join(found), ITEM, place)
        if item.role != "user":
            return SkipReason.SYSTEM
        self._look_around(found)
        injected = [word for word in map(authorship.machine, found) if word is not None]
        # A bare row is older than all events: it stands for itself though the rest has them.
        told = row.payload is not None and self.prompts is not Prompts.MESSAGES
        if told or (injected and len(injected) == len(found)):
            return injected[0] if injected else SkipReason.DUPLICATE
        human = [text for text in found if text.strip() and authorship.machine(text) is None]
        return self.talk.prompt(row, "\n\n".join(human), place, image=shows_image(item.content))

    def _look_around(self, found: list[str]) -> None:
        """Learn the folder from what the model is told, where nothing else tells it."""
        if self.talk.known.cwd is None:
            told = (
                authorship.folder(text)
                for text in found
                if authorship.machine(text) == SkipReason.ENVIRONMENT
            )
            self.talk.see(Item(cwd=next((folder for folder in told if folder), None)))


def _is_session(row: Row) -> bool:
    if row.payload is not None:
        return row.type == "session_meta"
    return row.type is None and row.id is not None and row.role is None
