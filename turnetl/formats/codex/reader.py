"""Readers of Codex CLI: rollouts as session JSONL, with or without the envelope, and as documents.

A turn starts at a prompt (see `prompts`) and ends before the next one. The first Codex CLI wrote
one document per session, under a new name and id whenever the session was resumed: that id
identifies nothing; the start of the session does.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from turnetl.base.model import ClosedBy
from turnetl.base.reason import SkipReason
from turnetl.formats.codex import prompts, rows
from turnetl.formats.codex.conversation import CodexConversation
from turnetl.formats.codex.prompts import RepeatedRows
from turnetl.formats.codex.rows import (
    ROWS,
    CodexEntry,
    CodexItem,
    CodexRow,
    has_image,
    mentions,
    texts,
)
from turnetl.formats.codex.sessions import parse_epoch, unique_id
from turnetl.formats.kit.json_archives import (
    JsonDocument,
    parse_document,
    read_elements,
    read_lines,
)
from turnetl.formats.kit.turn_builder import derived_session_id
from turnetl.formats.port import ParseCounts, ParsedArchive, Probe, SourceSpan, parse_time

_WITH_TYPE = ("response_item", "event_msg")
_KEYS = {
    "session_meta": ("id", "cwd", "cli_version", "originator"),
    "turn_context": ("cwd", "model", "approval_policy"),
    "compacted": ("message", "replacement_history"),
}
"""Keys of the payload, by the row's type; one of them suffices."""
_STATE = {"record_type"}
_HEADER = {"id", "timestamp"}


class Codex:
    def sniff(self, probe: Probe) -> bool:
        """Recognise the archive by its header, or by any row that only Codex writes."""
        return _is_header(probe.first) or any(map(_is_row, probe.rows))

    def read(self, data: bytes) -> ParsedArchive:
        reader = CodexReader()
        read_lines(data, ROWS, reader.read, reader.counts)
        return reader.finish()


def _is_header(row: Mapping[str, Any]) -> bool:
    """Return whether a row is the header of a rollout without the envelope."""
    has_ids = isinstance(row.get("id"), str) and isinstance(row.get("timestamp"), str)
    if not has_ids or "type" in row:
        return False
    return "instructions" in row or "git" in row or set(row) == _HEADER


def _is_row(row: Mapping[str, Any]) -> bool:
    return _is_envelope(row) if "payload" in row else set(row) == _STATE


def _is_envelope(row: Mapping[str, Any]) -> bool:
    kind, payload = row.get("type"), row.get("payload")
    if not isinstance(kind, str) or not isinstance(payload, dict):
        return False
    if kind in _WITH_TYPE:
        return isinstance(payload.get("type"), str)
    return any(key in payload for key in _KEYS.get(kind, ()))


_ITEMS = "items"


class CodexDocument:
    def sniff(self, probe: Probe) -> bool:
        """Recognise the archive by its session and its items."""
        session, item = probe.first.get("session"), probe.first.object_at(_ITEMS)
        if not isinstance(session, dict) or not {"id", "timestamp"} <= session.keys():
            return False
        return isinstance(item.get("type"), str) if item else probe.first.get(_ITEMS) == []

    def read(self, data: bytes) -> ParsedArchive:
        document = parse_document(data, _ITEMS)
        reader = CodexReader()
        sessions = reader.conversation.sessions
        session = ROWS.decode(document.fields.get("session", b""))
        sessions.start = parse_time(session.timestamp) if session is not None else None
        read_elements(data, document, ROWS, reader.read, reader.counts)
        sessions.own = _session_id(document, reader)
        return reader.finish()


_UNREAD_ITEMS = {"reasoning": SkipReason.REASONING, "": SkipReason.STATE}
# Bound once: access through the class of an enum is slow.
_EVENT, _OTHER = SkipReason.EVENT, SkipReason.OTHER


@dataclass(slots=True)
class CodexReader:
    conversation: CodexConversation = field(default_factory=CodexConversation)
    _repeated: RepeatedRows = field(default_factory=RepeatedRows)
    _run: "CodexReader | None" = None
    """Reads the rows of a subagent like those of a session."""

    @property
    def counts(self) -> ParseCounts:
        return self.conversation.builder.counts

    def read(self, row: CodexRow, span: SourceSpan) -> SkipReason | None:
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
            handle = EVENTS.get(entry.item.type or "")
            return handle(self.conversation, entry) if handle is not None else _EVENT
        if row.type == "response_item" or row.payload is None:
            return self._read_item(entry)
        return self._read_context(entry)

    def finish(self) -> ParsedArchive:
        conversation = self.conversation
        conversation.finish()
        sessions, run = conversation.sessions, self._run
        if sessions.is_subagent and run is not None:
            run.conversation.finish()
            conversation.builder.add_run_of(
                run.conversation.builder.turns,
                sessions.started_by,
                sessions.own or "",
                sessions.role,
            )
        return conversation.builder.finish(conversation.sessions.own, conversation.cwd)

    def _read_run(self, entry: CodexEntry) -> None:
        """Read a row of a subagent's own session; copied rows are in its parent's."""
        if self.conversation.sessions.replaying:
            return
        if self._run is None:
            self._run = CodexReader()
        run, metadata = self._run, self.conversation.metadata
        if run.conversation.turn is None and rows.is_call(entry.item.type or ""):
            time = parse_time(entry.row.timestamp)
            run.conversation.turn = run.conversation.builder.open("", entry.span, time)
        run.conversation.metadata = metadata
        run.read(entry.row, entry.span)

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
        elif rows.is_call(item.type or ""):
            self.conversation.count_subagent_call(item)
        self._read_run(entry)
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

    def _read_item(self, entry: CodexEntry) -> SkipReason | None:
        row, item = entry.row, entry.item
        kind = item.type or ""
        if row.payload is None and row.timestamp is None:
            self.conversation.add_item_time(row)
        if kind == "message" or (not kind and item.role is not None):
            return self._read_message(entry)
        if rows.is_call(kind):
            return self.conversation.add_call(entry)
        if rows.is_result(kind):
            return self.conversation.add_result(entry)
        return _UNREAD_ITEMS.get(kind, _OTHER)

    def _read_message(self, entry: CodexEntry) -> SkipReason | None:
        item = entry.item
        parts = [text for text in texts(item.content) if not prompts.is_image_tag(text)]
        if item.role == "assistant":
            return self.conversation.add_text(entry, "\n\n".join(parts), "item")
        if item.role != "user":
            return SkipReason.SYSTEM
        reasons = [prompts.skip_reason(part) for part in parts]
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
        texts = (text for text in parts if prompts.skip_reason(text) is environment)
        folders = map(prompts.working_folder, texts)
        cwd = next((folder for folder in folders if folder), None)
        self.conversation.update_metadata(CodexItem(cwd=cwd))


def _is_session(row: CodexRow) -> bool:
    if row.payload is not None:
        return row.type == "session_meta"
    return row.type is None and row.id is not None and row.role is None


def _is_response(entry: CodexEntry) -> bool:
    """Return whether a row shows that the agent responded to the prompt before it."""
    item = entry.item
    kind = item.type or ""
    if entry.row.type != "event_msg":
        return item.role == "assistant" or rows.is_call(kind) or rows.is_result(kind)
    if kind == "item_completed":
        return item.item is not None and item.item.type != "UserMessage"
    return kind in EVENTS and kind not in _NO_RESPONSES


def _passed_turn_id(item: CodexItem) -> str | None:
    passed = item.internal_chat_message_metadata_passthrough
    turn_id = passed.get("turn_id") if isinstance(passed, dict) else None
    return turn_id if isinstance(turn_id, str) else None


Handler = Callable[[CodexConversation, CodexEntry], SkipReason | None]


def _user_message(conversation: CodexConversation, entry: CodexEntry) -> SkipReason | None:
    """Open a turn at a prompt; skip text that the client wrote."""
    event = entry.item
    text = event.message or ""
    if reason := prompts.skip_reason(text, event.kind):
        return reason
    image = bool(event.images or event.local_images)
    return conversation.add_prompt(entry, "event", text, has_image=image, turn_id=event.turn_id)


def _user_item(conversation: CodexConversation, entry: CodexEntry) -> SkipReason | None:
    """Open a turn at a prompt in the form of the newest versions."""
    event, item = entry.item, entry.item.item or CodexItem()
    text = "\n\n".join(texts(item.content)) or mentions(item.content)
    if reason := prompts.skip_reason(text):
        return reason
    image = has_image(item.content)
    return conversation.add_prompt(entry, "item", text, has_image=image, turn_id=event.turn_id)


def _item_completed(conversation: CodexConversation, entry: CodexEntry) -> SkipReason | None:
    item = entry.item.item or CodexItem()
    match item.type:
        case "UserMessage":
            return _user_item(conversation, entry)
        case "AgentMessage":
            return conversation.add_text(entry, "\n\n".join(texts(item.content)), "completed")
        case "Plan" if item.text:
            return conversation.add_supplement(entry, item.text)
        case "Reasoning":
            return SkipReason.REASONING
        case "ContextCompaction":
            return SkipReason.COMPACTION
    return conversation.complete_call(CodexEntry(entry.row, item, entry.span), is_item=True)


def _review_started(conversation: CodexConversation, _: CodexEntry) -> SkipReason | None:
    conversation.task.in_review = True
    return SkipReason.EVENT


def _review_ended(conversation: CodexConversation, entry: CodexEntry) -> SkipReason | None:
    conversation.task.in_review = False
    review = entry.item.review_output
    findings = [] if review is None else review.findings or []
    explanation = "" if review is None else review.overall_explanation or ""
    parts = [explanation, *(str(item.get("body") or item.get("title") or "") for item in findings)]
    reasons = [conversation.add_supplement(entry, part) for part in parts if part.strip()]
    return reasons[0] if reasons else SkipReason.EVENT


def _task_started(conversation: CodexConversation, entry: CodexEntry) -> SkipReason | None:
    conversation.start_task(entry.item.turn_id)
    return SkipReason.TASK


def _task_ended(conversation: CodexConversation, entry: CodexEntry) -> SkipReason | None:
    conversation.end_task()
    turn, event = conversation.turn, entry.item
    if turn is None:
        return SkipReason.PREAMBLE
    aborted = event.type == "turn_aborted" and event.reason != "review_ended"
    failed = aborted or event.error is not None
    turn.closed_by = ClosedBy.INTERRUPTED if failed else ClosedBy.SESSION_END
    conversation.extend(entry)
    completed = parse_epoch(event.completed_at)
    turn.ended_at = conversation.time(entry.row) or completed or turn.ended_at
    return None


def _subagent_started(conversation: CodexConversation, entry: CodexEntry) -> SkipReason | None:
    item = entry.item
    conversation.builder.link(conversation.turn, item.call_id, rows.started_thread(item))
    return SkipReason.EVENT


EVENTS: dict[str, Handler] = {
    "user_message": _user_message,
    "agent_message": lambda conversation, entry: conversation.add_text(
        entry, entry.item.message or "", "event"
    ),
    "item_completed": _item_completed,
    "entered_review_mode": _review_started,
    "exited_review_mode": _review_ended,
    "task_started": _task_started,
    "turn_started": _task_started,
    "task_complete": _task_ended,
    "turn_complete": _task_ended,
    "turn_aborted": _task_ended,
    "collab_agent_spawn_end": _subagent_started,
    "exec_command_end": CodexConversation.complete_call,
    "mcp_tool_call_end": CodexConversation.complete_call,
    "patch_apply_end": CodexConversation.complete_call,
    "token_count": CodexConversation.add_usage,
}
_NO_RESPONSES = frozenset({"user_message", "task_started", "turn_started", "token_count"})
"""The events above that do not show that the agent responded to the prompt before them."""


def _session_id(document: JsonDocument, reader: CodexReader) -> str | None:
    """Return an id derived from the first prompt and the first id that the model's server gave."""
    decoded = (ROWS.decode(raw) for _, raw in document.elements)
    first = next((row.id for row in decoded if row is not None and row.id is not None), "")
    turn = next(iter(reader.conversation.builder.turns), None)
    return derived_session_id(turn.user_text, first) if turn is not None else None
