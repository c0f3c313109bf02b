"""The Reader port: a reader takes the bytes of one archive and returns its turns and line counts.

A format is a package with its reader, registered with name, title and version by one line in
`turnetl.formats.registry`. A reader knows no path, no group and no table, and redacts nothing:
`turnetl.parsing` does all of that. Texts are therefore complete here.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

import msgspec

from turnetl.base.model import ClosedBy, SessionId, SubagentUsage
from turnetl.formats.kit.counts import ParseCounts
from turnetl.formats.kit.json_archives import SourceSpan
from turnetl.formats.kit.probe import Probe
from turnetl.formats.kit.times import parse_time
from turnetl.formats.kit.usage import MessageUsages

__all__ = [
    "ParseCounts",
    "ParsedArchive",
    "Probe",
    "RawToolCall",
    "RawTurn",
    "Reader",
    "SourceSpan",
    "SubagentStart",
    "parse_time",
]


class RawToolCall(msgspec.Struct, gc=False):
    """One tool call as the archive records it. Cheap, because an archive may have thousands."""

    name: str
    input: str
    """Command, path with a summary of the change, or compact JSON; may span lines."""
    result: str = ""
    is_error: bool = False
    ended_at: datetime | None = None
    line: int = 0
    """Its line; 0: not recorded."""
    arguments: object = None
    """What `input` shows in part, decoded: see `kit.tool_input.added_lines`. Not redacted."""
    original: str = ""
    """The file before the call edited it, as far as the archive has it. Not redacted."""


class SubagentStart(msgspec.Struct, gc=False):
    """A call that started a subagent, as far as the archive says which."""

    call_id: str | None = None
    agent_id: str | None = None
    type: str | None = None


class RawTurn(msgspec.Struct, gc=False):
    """A turn as the archive records it, neither redacted nor truncated. Lists are in file order.

    A run of a subagent has the same form.
    """

    native_id: str
    """The input of the turn's id: the prompt's own id, or session and ordinal."""
    session_id: SessionId
    ordinal: int
    user_text: str
    first_line: int
    last_line: int
    first_byte: int
    last_byte: int
    prompt_id: str | None = None
    """Of a run: of the call that started it."""
    parent_session_id: str | None = None
    agent_id: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    assistant_texts: list[str] = []
    """The agent's texts, one for each message or block."""
    steering: list[str] = []
    steering_at: list[int] = []
    """How many of `assistant_texts` precede each text of `steering`."""
    user_answers: list[str] = []
    answers_at: list[int] = []
    tool_calls: list[RawToolCall] = []
    subagent_prompts: list[str] = []
    model: str | None = None
    cwd: str | None = None
    git_branch: str | None = None
    app_version: str | None = None
    usage: MessageUsages = {}
    """Tokens of each API message, by message id."""
    input_chars: int = 0
    """Characters of all tool inputs, as the archive records them."""
    closed_by: ClosedBy | None = None
    subagent_calls: list[SubagentStart] = []
    subagent_type: str | None = None
    """The type of the subagent whose run this is, perhaps empty; None: it is a turn."""

    @property
    def chars(self) -> int:
        """Characters of all texts of the user and the agent and of tool calls; no reasoning."""
        chars = len(self.user_text) + self.input_chars
        for texts in (self.assistant_texts, self.steering, self.user_answers):
            for text in texts:
                chars += len(text)
        for call in self.tool_calls:
            chars += len(call.result)
        return chars


@dataclass(slots=True)
class ParsedArchive:
    """The result of reading one archive."""

    turns: list[RawTurn]
    counts: ParseCounts
    cwd: str | None
    """The first working directory that the archive names."""
    subagent_usage: tuple[SubagentUsage, ...] | None = None
    """Tokens of API messages in no turn: of subagents, and before the first prompt; None if there
    is neither a message nor a row of a subagent."""
    runs: list[RawTurn] = field(default_factory=list)
    """Runs of subagents in the form of turns: the prompt, the last answer, the tool calls."""

    @property
    def rows(self) -> list[RawTurn]:
        """The turns, then the runs."""
        return [*self.turns, *self.runs] if self.runs else self.turns


class Reader(Protocol):
    """The reader of one archive format; created without arguments."""

    def sniff(self, probe: Probe) -> bool:
        """Return whether an archive that starts like this has this format."""

    def read(self, data: bytes) -> ParsedArchive:
        """Read an archive; content that cannot be read is counted. Raises only `TooManyRows`."""
