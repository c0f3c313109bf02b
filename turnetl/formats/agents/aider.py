"""Aider's history: `.aider.chat.history.md`, Markdown in which the start of a line tells who spoke.

`# aider chat started at` begins a session, `####` a line of a prompt, `>` one of Aider itself; the
rest is the response. Only the start of a session has a time, in the local time zone.
"""

import re
from dataclasses import dataclass, field

from turnetl.base.reason import SkipReason
from turnetl.formats.kit.conversation import Conversation
from turnetl.formats.kit.json_archives import SourceSpan, iter_lines
from turnetl.formats.kit.times import parse_time
from turnetl.formats.kit.turn_builder import derived_session_id
from turnetl.formats.port import ParsedArchive, Probe

_START = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*\Z")
_is_history = re.compile(rb"\s*# aider chat started at \d{4}-").match
_PROMPT = re.compile(r"####(?: (.*))?\Z")
_TOOL = re.compile(r"> ?(.*)\Z")
_EDIT = re.compile(r"Applied edit to (.+)\Z")
_MODEL = re.compile(r"(?:Main model|Model): (\S+)")
_CALLS_MODEL = re.compile(r"/(?:ask|code|architect|context|help)\s+")
"""Commands with a prompt for the model."""


class Aider:
    def sniff(self, probe: Probe) -> bool:
        """Recognise the archive by its first line."""
        return _is_history(probe.start) is not None

    def read(self, data: bytes) -> ParsedArchive:
        reader = _AiderReader()
        for number, start, line in iter_lines(data):
            span = SourceSpan(number, number, start, start + len(line))
            reader.read(line.decode("utf-8", "replace").rstrip(), span)
        reader.end_texts()
        return reader.talk.finish()


@dataclass(slots=True)
class _AiderReader:
    talk: Conversation = field(default_factory=Conversation)
    _started: str = ""
    """The time of the session, as it is written."""
    _prompt: list[str] = field(default_factory=list)
    _prompt_span: SourceSpan | None = None
    _response: list[str] = field(default_factory=list)
    _response_span: SourceSpan = field(default_factory=lambda: SourceSpan(1, 1, 0, 0))
    """Of its last line."""
    _skipped: SkipReason | None = None
    """Why what follows belongs to no turn."""

    def read(self, line: str, span: SourceSpan) -> None:
        """Read a line, and count it: the lines of a prompt once it is complete."""
        counts = self.talk.builder.counts
        counts.lines += 1
        prompt = _PROMPT.match(line)
        if prompt is not None:
            self._end_response()
            self._prompt_span = self._prompt_span or span
            self._prompt_span.last_line, self._prompt_span.end = span.line, span.end
            self._prompt.append(prompt[1] or "")
            return
        self._end_prompt()
        self.talk.span = span
        if not line:
            counts.blank_lines += 1
            self._response += [""] if self._response else []
            counts.count(SkipReason.BLANK, 1)
            return
        counts.count(self._read_other(line), 1)

    def end_texts(self) -> None:
        """End the prompt or the response that the file ends with."""
        self._end_prompt()
        self._end_response()

    def _read_other(self, line: str) -> SkipReason | None:
        if (start := _START.match(line)) is not None:
            self._end_response()
            self._started, self._skipped = start[1], None
            self.talk.start(None)
            self.talk.current, self.talk.time = None, parse_time(start[1])
            return SkipReason.SESSION_METADATA
        if (tool := _TOOL.match(line)) is not None:
            self._end_response()
            return self._read_tool(tool[1])
        if self._skipped is not None or self.talk.turn() is None:
            return self._skipped or SkipReason.PREAMBLE
        self._response.append(line)
        self._response_span = self.talk.span
        return None

    def _read_tool(self, text: str) -> SkipReason | None:
        if (model := _MODEL.match(text)) is not None:
            self.talk.describe(model=model[1])
        if (edit := _EDIT.match(text)) is None or self._skipped is not None:
            return self._skipped or SkipReason.INFO
        key = f"{self.talk.span.start}"
        called = self.talk.call("edit", {"path": edit[1]}, key)
        self.talk.result(key, text)
        return called

    def _end_prompt(self) -> None:
        if self._prompt_span is None:
            return
        text = "\n".join(self._prompt).strip()
        lines = self._prompt_span.last_line - self._prompt_span.line + 1
        self.talk.span = self._prompt_span
        self._skipped = _skip_reason(text)
        if self.talk.session is None:
            self.talk.describe(derived_session_id("aider", self._started, text))
        reason = self._skipped or self.talk.prompt(text)
        # Only the first prompt of a session has a time.
        self.talk.time = None if reason is None else self.talk.time
        self.talk.builder.counts.count(reason, lines)
        self._prompt, self._prompt_span = [], None

    def _end_response(self) -> None:
        if not self._response:
            return
        span, self.talk.span = self.talk.span, self._response_span
        self.talk.answer("\n".join(self._response).strip())
        self.talk.span, self._response = span, []


def _skip_reason(text: str) -> SkipReason | None:
    """Return why a prompt did not go to the model."""
    if text.startswith("!"):
        return SkipReason.SHELL_COMMAND
    is_local = text.startswith("/") and _CALLS_MODEL.match(text) is None
    return SkipReason.LOCAL_COMMAND if is_local else None
