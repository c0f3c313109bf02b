"""The seam to a format: bytes of one archive in, its turns and its counts out.

A format is one module with one object that has a name, a `sniff` and a `read`; it is made known by
one line in `turnetl.formats`. Formats know no path, no group and no table, and they cut out no
secret: all of that is done for them in `turnetl.parse`, which is why texts stand here whole.

How lines and documents are cut, mended and counted stands in `jsonl` and `documents`; how an
archive looks from outside, which is all that `sniff` is shown, in `opening`.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from turnetl.formats.kit.places import Counts, Place
from turnetl.formats.kit.probe import Probe
from turnetl.model import ClosedBy, SessionId

__all__ = [
    "Counts",
    "Format",
    "ParsedArchive",
    "Place",
    "Probe",
    "RawTurn",
    "ToolUse",
    "moment",
]


@dataclass(slots=True)
class ToolUse:
    """One call of a tool as the archive has it."""

    name: str
    input: str
    """Command, path with the gist of a change, or compact JSON; may span lines."""
    result: str = ""
    """Whole."""
    is_error: bool = False
    ended_at: datetime | None = None


@dataclass(slots=True)
class RawTurn:
    """A turn as the archive has it: neither redacted nor cut. Lists are in file order."""

    native_id: str
    """What the turn's id is made of: the prompt's own id, or session and ordinal."""
    session_id: SessionId
    ordinal: int
    user_text: str
    first_line: int
    last_line: int
    first_byte: int
    last_byte: int
    prompt_id: str | None = None
    parent_session_id: str | None = None
    agent_id: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    assistant_texts: list[str] = field(default_factory=list)
    """What the agent said, a text each."""
    steering: list[str] = field(default_factory=list)
    user_answers: list[str] = field(default_factory=list)
    tool_calls: list[ToolUse] = field(default_factory=list)
    subagent_prompts: list[str] = field(default_factory=list)
    model: str | None = None
    cwd: str | None = None
    git_branch: str | None = None
    app_version: str | None = None
    usage: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Input and output tokens of each API message, by its id."""
    input_chars: int = 0
    """Of all tool inputs, as the archive has them."""
    closed_by: ClosedBy | None = None

    @property
    def chars(self) -> int:
        """Of the whole turn: prompt, answers, tool inputs and outcomes, steering; no thinking."""
        spoken = (self.user_text, *self.assistant_texts, *self.steering, *self.user_answers)
        outcomes = sum(len(tool.result) for tool in self.tool_calls)
        return sum(map(len, spoken)) + self.input_chars + outcomes


@dataclass(slots=True)
class ParsedArchive:
    """All that a format says about one archive."""

    turns: list[RawTurn]
    counts: Counts
    cwd: str | None
    """The first folder that the archive names."""


class Format(Protocol):
    """One kind of archive."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str:
        """What it is, in a line for people."""
        ...

    @property
    def version(self) -> int:
        """Grows when the same bytes would give other turns: archives are then read again."""
        ...

    def sniff(self, opening: Probe) -> bool:
        """Say whether an archive that begins like this is one of these."""
        ...

    def read(self, data: bytes) -> ParsedArchive:
        """Read a whole archive. Never raises: what cannot be read is counted."""
        ...


def moment(text: object) -> datetime | None:
    """Return an ISO 8601 time as UTC; a time without a zone is taken as UTC. None if it is none."""
    if not isinstance(text, str):
        return None
    try:
        found = datetime.fromisoformat(text)
        if found.tzinfo is UTC:
            return found
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
