"""The archive that a turns file was parsed from, as the file records it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from turnetl.base import schema
from turnetl.base.model import GroupId, SubagentUsage

TOKENS = 1
"""Tokens of each API message: input without the cache, cache write and read, output."""


@dataclass(frozen=True, slots=True)
class ArchiveMetadata:
    """The archive that a turns file was parsed from, in its state at that time."""

    archive: str
    """Absolute path, or URL."""
    size: int
    mtime_ns: int
    sha256: str
    format: str
    reader_version: int
    """Version of the format's reader."""
    redactor_version: str
    group: GroupId
    group_is_explicit: bool
    """Whether the user named the group."""
    counts: Mapping[str, Any]
    """The archive's `ParseCounts` by name; `skipped` by reason."""
    schema: int = schema.TURNS.version
    cwd: str | None = None
    """The first working directory that the archive names, redacted: the default group's source."""
    format_is_explicit: bool = False
    """Whether the user named the format."""
    retained_turns: int = 0
    """Turns of the file that the archive held once and no longer holds."""
    retained_digest: str = ""
    """Digest of the ids of these turns; empty if there are none."""
    e_tag: str = ""
    """Of an object: changes with its content. Empty: a file."""
    machine: str = ""
    """The machine whose lake the turns were imported from; empty: they were parsed by this lake."""
    original_digest: str = ""
    """The digest of the archive's path on that machine; empty: they were parsed by this lake."""
    subagent_usage: tuple[SubagentUsage, ...] | None = None
    """Tokens in no turn: of subagents, and of a session before its first prompt. None: there are no
    such rows, or the file is older than this field."""
    tokens: int = 0
    """What the tokens of the archive mean: `TOKENS`, or 0 if an older turnetl parsed it."""

    @property
    def is_older(self) -> bool:
        """Whether a turnetl parsed the archive that did not record all tokens."""
        return self.tokens != TOKENS

    @property
    def turns(self) -> int:
        """Number of rows of the file."""
        return int(self.counts["turns"]) + self.retained_turns


@dataclass(frozen=True, slots=True)
class TurnFile:
    """A turns file and its metadata."""

    path: Path
    metadata: ArchiveMetadata
