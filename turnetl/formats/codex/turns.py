"""The reader of one Codex rollout: it passes the content of each row to the conversation."""

from dataclasses import dataclass, field

from turnetl.base.skip_reasons import SkipReason
from turnetl.formats.base import ParseCounts, ParsedArchive, SourceSpan, parse_time
from turnetl.formats.codex import authorship, events, tools
from turnetl.formats.codex.conversation import CodexConversation
from turnetl.formats.codex.prompts import RepeatedRows
from turnetl.formats.codex.rows import CodexEntry, CodexItem, CodexRow, has_image, texts
from turnetl.formats.codex.sessions import unique_id

_UNREAD_ITEMS = {"reasoning": SkipReason.REASONING, "": SkipReason.STATE}
# Bound once: access through the class of an enum is slow.
_EVENT, _OTHER = SkipReason.EVENT, SkipReason.OTHER


@dataclass(slots=True)
class CodexReader:
    """Reads the rows in file order."""

    conversation: CodexConversation = field(default_factory=CodexConversation)
    _repeated: RepeatedRows = field(default_factory=RepeatedRows)

    @property
    def counts(self) -> ParseCounts:
        return self.conversation.builder.counts

    def read(self, row: CodexRow, span: SourceSpan) -> SkipReason | None:
        """Read a row; return the reason if it added nothing to a turn."""
        entry = CodexEntry(row, row if row.payload is None else row.payload, span)
        sessions = self.conversation.sessions
        if _is_session(row):
            return self._read_session(entry.item)
        if sessions.replaying:
            sessions.observe_time(parse_time(row.timestamp))
        if sessions.is_subagent:
            return self._read_sidechain(entry)
        if row.ordinal is not None and self._repeated.is_repeated(entry):
            return SkipReason.DUPLICATE
        if self.conversation.prompts.held and _is_response(entry):
            self.conversation.open_held(entry)
        if row.type == "event_msg":
            return self._read_event(entry)
        if row.type == "response_item" or row.payload is None:
            return self._read_item(entry)
        return self._read_context(entry)

    def finish(self) -> ParsedArchive:
        conversation = self.conversation
        conversation.finish()
        return conversation.builder.finish(conversation.sessions.own, conversation.cwd)

    def _read_session(self, meta: CodexItem) -> SkipReason:
        self.conversation.open_held()
        self._repeated.clear()
        self.conversation.requests.restart()
        self.conversation.sessions.read_meta(meta)
        self.conversation.update_metadata(meta)
        if self.conversation.sessions.is_subagent:
            self.counts.sidechain_rows += 1
            return SkipReason.SIDECHAIN
        return SkipReason.SESSION_METADATA

    def _read_sidechain(self, entry: CodexEntry) -> SkipReason:
        """Count a row of a subagent's own session: its prompts come from another agent."""
        row, item = entry.row, entry.item
        self.counts.sidechain_rows += 1
        self.conversation.sessions.observe_turn(item.turn_id)
        if row.type == "turn_context":
            self.conversation.metadata.model = item.model or self.conversation.metadata.model
        elif row.type == "token_usage_record" or item.type == "token_count":
            self.conversation.add_subagent_usage(entry)
        elif tools.is_call(item.type or ""):
            self.conversation.count_subagent_call(item)
        return SkipReason.SIDECHAIN

    def _read_context(self, entry: CodexEntry) -> SkipReason | None:
        row, item = entry.row, entry.item
        if row.type == "token_usage_record":
            return self.conversation.add_usage(entry)
        if row.type != "turn_context":
            is_compaction = row.type == "compacted"
            return SkipReason.COMPACTION if is_compaction else SkipReason.CONTEXT
        self.conversation.update_metadata(item)
        if self.conversation.prompts.held:
            self.conversation.prompts.add_turn_id(unique_id(item.turn_id))
        if not self.conversation.has_new_turn:
            return SkipReason.CONTEXT
        self.conversation.identify(item.turn_id)
        return self.conversation.extend(entry)

    def _read_event(self, entry: CodexEntry) -> SkipReason | None:
        event = entry.item
        handle = events.EVENTS.get(event.type or "")
        return handle(self.conversation, entry) if handle is not None else _EVENT

    def _read_item(self, entry: CodexEntry) -> SkipReason | None:
        row, item = entry.row, entry.item
        kind = item.type or ""
        if row.payload is None and row.timestamp is None:
            self.conversation.add_item_time(row)
        if kind == "message" or (not kind and item.role is not None):
            return self._read_message(entry)
        if tools.is_call(kind):
            return self.conversation.add_call(entry)
        if tools.is_result(kind):
            return self.conversation.add_result(entry)
        return _UNREAD_ITEMS.get(kind, _OTHER)

    def _read_message(self, entry: CodexEntry) -> SkipReason | None:
        item = entry.item
        parts = [text for text in texts(item.content) if not authorship.is_image_tag(text)]
        if item.role == "assistant":
            return self.conversation.add_text(entry, "\n\n".join(parts), "item")
        if item.role != "user":
            return SkipReason.SYSTEM
        reasons = [authorship.skip_reason(part) for part in parts]
        if SkipReason.ENVIRONMENT in reasons:
            self._read_working_folder(parts)
        injected = [reason for reason in reasons if reason is not None]
        if injected and len(injected) == len(parts):
            return injected[0]
        if self.conversation.task.in_review:
            return SkipReason.REVIEW
        by_user = (part for part, reason in zip(parts, reasons, strict=True) if reason is None)
        text, image = "\n\n".join(filter(str.strip, by_user)), has_image(item.content)
        turn_id = _passed_turn_id(item)
        return self.conversation.add_prompt(
            entry, "message", text, has_image=image, turn_id=turn_id
        )

    def _read_working_folder(self, parts: list[str]) -> None:
        """Read the working directory from the client's text, if no other row named it."""
        if self.conversation.metadata.cwd is not None:
            return
        environment = SkipReason.ENVIRONMENT
        texts = (text for text in parts if authorship.skip_reason(text) is environment)
        folders = map(authorship.working_folder, texts)
        cwd = next((folder for folder in folders if folder), None)
        self.conversation.update_metadata(CodexItem(cwd=cwd))


def _is_session(row: CodexRow) -> bool:
    if row.payload is not None:
        return row.type == "session_meta"
    return row.type is None and row.id is not None and row.role is None


def _is_response(entry: CodexEntry) -> bool:
    """Return whether a row shows that the agent responded to the prompt before it."""
    row, item = entry.row, entry.item
    if row.type == "event_msg":
        return events.is_response(item)
    kind = item.type or ""
    return item.role == "assistant" or tools.is_call(kind) or tools.is_result(kind)


def _passed_turn_id(item: CodexItem) -> str | None:
    """Return the id of the task that a message names."""
    passed = item.internal_chat_message_metadata_passthrough
    turn_id = passed.get("turn_id") if isinstance(passed, dict) else None
    return turn_id if isinstance(turn_id, str) else None
