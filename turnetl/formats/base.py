"""The seam to a format: bytes of one archive in, its turns and its counts out.

A format is one module with one object that has a name, a `sniff` and a `read`; it is made known by
one line in `turnetl.formats`. Formats know no path, no group and no table, and they cut out no
secret: all of that is done for them in `turnetl.parse`, which is why texts stand here whole.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any, Protocol

from turnetl.model import ClosedBy, SessionId


@dataclass(slots=True)
class ToolUse:
    """One call of a tool as the archive has it."""

    name: str
    input: str
    """Command, path with the gist of a change, or compact JSON; may span lines."""
    outcome: str = ""
    """Whole."""
    is_error: bool = False
    ended_at: datetime | None = None


@dataclass(slots=True)
class RawTurn:
    """A turn as the archive has it: neither redacted nor cut. Lists are in file order."""

    native: str
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
    said: list[str] = field(default_factory=list)
    """What the agent said, a text each."""
    steering: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    tools: list[ToolUse] = field(default_factory=list)
    subagents: list[str] = field(default_factory=list)
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
        spoken = (self.user_text, *self.said, *self.steering, *self.answers)
        outcomes = sum(len(tool.outcome) for tool in self.tools)
        return sum(map(len, spoken)) + self.input_chars + outcomes


@dataclass(slots=True)
class Counts:
    """What became of an archive's lines: `lines == used + sum(skipped.values())`."""

    lines: int = 0
    used: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    """Lines that gave nothing to a turn, by reason."""
    turns: int = 0
    steering: int = 0
    answers: int = 0
    sidechain_rows: int = 0
    tool_uses: int = 0
    bad_lines: int = 0
    """Lines that are not one JSON value; glued ones are among them."""
    glued_lines: int = 0
    """Bad lines that held several objects, all of which were read."""
    blank_lines: int = 0
    first_broken_line: int | None = None
    """Number of the first bad line that was not glued."""

    def __add__(self, other: "Counts") -> "Counts":
        """Return the sums; the first broken line of a sum is nobody's."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in _SUMMED}
        return Counts(**sums)

    def as_mapping(self) -> dict[str, Any]:
        """Return plain values by name. `dataclasses.asdict` would garble the Counter."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return values | {"skipped": dict(self.skipped)}

    @classmethod
    def from_mapping(cls, said: Mapping[str, Any]) -> "Counts":
        """Return the counts of `as_mapping`."""
        return cls(**{**said, "skipped": Counter(said["skipped"])})


_SUMMED = [one.name for one in fields(Counts) if one.name != "first_broken_line"]


@dataclass(slots=True)
class Reading:
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
    def version(self) -> int:
        """Grows when the same bytes would give other turns: archives are then read again."""
        ...

    def sniff(self, head: bytes) -> bool:
        """Say whether these are the first bytes of such an archive; the last line may be cut."""
        ...

    def read(self, data: bytes) -> Reading:
        """Read a whole archive. Never raises: what cannot be read is counted."""
        ...


def lines(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield (number from 1, offset, line) of each line, cut at the byte 0x0A only.

    A final newline ends the last line and starts no other.
    """
    number, start, size = 1, 0, len(data)
    while start < size:
        end = data.find(b"\n", start)
        end = size if end < 0 else end
        yield number, start, data[start:end]
        number, start = number + 1, end + 1


def moment(text: object) -> datetime | None:
    """Return an ISO 8601 time as UTC; a time without a zone is taken as UTC. None if it is none."""
    if not isinstance(text, str):
        return None
    try:
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
