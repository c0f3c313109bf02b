"""The schema version that a file stores, and the archive that a turns file was parsed from.

A file of another version is rejected, unless the table names that version: then the columns that
the file lacks are null.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from turnetl.base import schema
from turnetl.base.errors import Fatal
from turnetl.base.model import GroupId, SubagentUsage
from turnetl.base.object_url import shown_name

UPDATE = "a newer turnetl wrote it: update turnetl, for example with `pip install -U turnetl`"
"""The remedy for what a newer version wrote."""
KEY = "schema"
"""The key of the version in the JSON object that a file stores as its metadata."""


class _StoredVersion(msgspec.Struct, rename={"version": KEY}):
    version: int | str = "0"
    """0: written before tables stored their version."""


def check_version(path: Path, metadata: str, table: schema.Table) -> None:
    """Raise `Fatal` if a file stores a schema version that is not read; others' files pass."""
    version = stored_version(metadata)
    if version is not None and not is_read(version, table):
        raise Fatal(
            f"`{shown_name(path)}` has version {version} of the `{table.name}` table, but this "
            f"turnetl reads version {table.version}: {_remedy(version, table)}"
        )


def stored_version(metadata: str) -> str | None:
    """Return the schema version that a file stores; None if turnetl did not write it."""
    try:
        return str(msgspec.json.decode(metadata, type=_StoredVersion).version)
    except msgspec.DecodeError:
        return None


def is_read(version: str, table: schema.Table) -> bool:
    return version in map(str, (table.version, *table.later_columns))


def is_newer(version: str, table: schema.Table) -> bool:
    """Return whether a newer turnetl wrote a file of this version."""
    return not version.isdigit() or int(version) > table.version


def _remedy(version: str, table: schema.Table) -> str:
    # A lake is never to be deleted: archives are gone, and responses in its journal were paid for.
    if is_newer(version, table):
        return f"{UPDATE}. Keep the lake as it is."
    if table is schema.EPISODES:
        return "move it away, and `turnetl filter` makes it again from the turns."
    return (
        "name a new lake with --lake, and run `turnetl parse` again. Keep this lake: it may hold "
        "turns whose archives are gone, its journal responses that were paid for, and an embedded "
        "graph; an older turnetl reads it."
    )


def missing_columns(metadata: str, table: schema.Table) -> frozenset[str]:
    """Return the columns that a file lacks because of its version; see `check_version`."""
    versions = {str(version): names for version, names in table.later_columns.items()}
    return versions.get(stored_version(metadata) or "", frozenset())


def metadata_text(metadata: Mapping[str, str], table: schema.Table) -> str:
    versioned = {KEY: str(table.version), **metadata}
    return msgspec.json.encode(versioned, order="sorted").decode()


TOKENS = 3
"""1: tokens of each API message: input without the cache, cache write and read, output. 2: also the
runs of subagents, and the calls that started them. 3: also where in a response the user spoke, and
texts for people in calls."""


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
    """What is recorded of messages: up to `TOKENS`, or 0 if an older turnetl parsed the archive."""

    @property
    def is_older(self) -> bool:
        """Whether a turnetl parsed the archive that recorded less, so that it is read again."""
        return self.tokens != TOKENS

    @property
    def turns(self) -> int:
        """Number of rows of the file."""
        return int(self.counts["turns"]) + self.retained_turns


@dataclass(frozen=True, slots=True)
class TurnFile:
    path: Path
    metadata: ArchiveMetadata
