"""Parquet in and out: atomic, self-describing, checked against the schema both ways.

    <root>/turns/<group>/<digest of the archive's path>.parquet     one file an archive
    <root>/episodes/<group>.parquet                                 one file a group

A turns file says in its own metadata which archive it was read from: it is its own watermark.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import IO, Any

import msgspec
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from turnetl import ids, schema
from turnetl.errors import Stop
from turnetl.model import ClosedBy, Episode, GroupId, SessionId, ToolCall, Turn, TurnId

_KEY = "turnetl"
"""The Parquet metadata key of a file's own description."""
_VERSION = "turnetl.schema"
_SMALL = 1000
"""Rows."""
_LONG = (
    "user_text",
    "assistant_text",
    "subagents.list.element",
    "tools.list.element.input",
    "tools.list.element.outcome",
    "text",
    "parts.list.element",
)
"""The columns of text, by their names in Parquet."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Which archive a turns file was read from, as it was then."""

    archive: str
    """Path as given."""
    size: int
    mtime_ns: int
    sha256: str
    format: str
    reader: int
    """Version of the format's reader."""
    group: GroupId
    fixed: bool
    """Whether a person named the group."""
    counts: Mapping[str, Any]
    """Lines, turns and the rest, by name; `skipped` by reason."""
    schema: int = schema.TURNS.version


@dataclass(frozen=True, slots=True)
class TurnFile:
    """One turns file and what it says of itself."""

    path: Path
    origin: Origin


class Lake:
    """The tables under one folder. Nothing is created before the first write."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def groups(self) -> list[GroupId]:
        """Return the groups that have turns files or an episodes table, sorted."""
        turns = {path.parent.name for path in self.turn_paths()}
        episodes = {path.stem for path in self._episodes.glob("*.parquet")}
        return [GroupId(name) for name in sorted(turns | episodes)]

    def turn_paths(self, group: GroupId | None = None) -> list[Path]:
        """Return the turns files of a group or of all, sorted; opens none."""
        groups = [group] if group is not None else _names(self._turns)
        return [
            self._turns / of / name
            for of in groups
            for name in _names(self._turns / of)
            if name.endswith(".parquet")
        ]

    def turn_files(self, group: GroupId | None = None) -> list[TurnFile]:
        """Return what each turns file says of itself, by path; reads no row.

        Files of an older schema, and such as turnetl did not write, are left out.
        """
        found = ((path, self.origin(path)) for path in self.turn_paths(group))
        return [TurnFile(path, origin) for path, origin in found if origin is not None]

    def origin(self, path: Path) -> Origin | None:
        """Return what a turns file says of itself, or None if it says nothing we know."""
        try:
            said = pl.read_parquet_metadata(path).get(_KEY, "")
            origin = msgspec.json.decode(said, type=Origin)
        except (OSError, pl.exceptions.PolarsError, msgspec.DecodeError):
            return None
        return origin if origin.schema == schema.TURNS.version else None

    def write_turns(self, turns: pl.DataFrame | pa.Table, origin: Origin) -> Path:
        """Write an archive's turns in place of what it gave before, also in another group."""
        name = f"{archive_digest(Path(origin.archive))}.parquet"
        said = {_KEY: msgspec.json.encode(origin, order="sorted").decode()}
        path = self._turns / origin.group / name
        write(path, turns, schema.TURNS, said)
        for group in _names(self._turns):
            if group != origin.group:
                (self._turns / group / name).unlink(missing_ok=True)
        return path

    def scan_turns(self, group: GroupId) -> pl.LazyFrame:
        """Return the turns of a group: files by name, rows in the archive's order."""
        return scan(self.turn_paths(group), schema.TURNS)

    def turns(self, group: GroupId) -> Iterator[Turn]:
        """Yield the turns of `scan_turns` as values."""
        return (as_turn(row) for row in self.scan_turns(group).collect().iter_rows(named=True))

    def write_episodes(
        self, group: GroupId, frame: pl.DataFrame, metadata: Mapping[str, str]
    ) -> None:
        """Write a group's episodes in place of those before."""
        write(self._episodes_path(group), frame, schema.EPISODES, metadata)

    def episodes_metadata(self, group: GroupId) -> Mapping[str, str] | None:
        """Return what `write_episodes` was given, or None if the group has no such table."""
        try:
            said = pl.read_parquet_metadata(self._episodes_path(group))
        except FileNotFoundError:
            return None
        except pl.exceptions.PolarsError as error:
            raise _refusal(self._episodes_path(group), "cannot be read") from error
        return {key: text for key, text in said.items() if key not in (_VERSION, "ARROW:schema")}

    def scan_episodes(self, group: GroupId) -> pl.LazyFrame:
        """Return the episodes of a group in table order; no rows if there is no table."""
        path = self._episodes_path(group)
        return scan([path] if path.exists() else [], schema.EPISODES)

    def episodes(
        self, group: GroupId, turn_ids: Collection[TurnId] | None = None
    ) -> Iterator[Episode]:
        """Yield a group's episodes as values, in table order; only those named, if any are."""
        rows = self.scan_episodes(group)
        if turn_ids is not None:
            rows = rows.filter(pl.col("turn_id").is_in(sorted(turn_ids)))
        return (as_episode(row) for row in rows.collect().iter_rows(named=True))

    @property
    def _turns(self) -> Path:
        return self.root / "turns"

    @property
    def _episodes(self) -> Path:
        return self.root / "episodes"

    def _episodes_path(self, group: GroupId) -> Path:
        return self._episodes / f"{group}.parquet"


def archive_digest(archive: Path) -> str:
    """Return the name of an archive's turns file: the same however the path is written."""
    return ids.digest(str(archive.resolve()))


def write(
    path: Path, rows: pl.DataFrame | pa.Table, table: schema.Table, metadata: Mapping[str, str]
) -> None:
    """Write a table under a temporary name, sync it, rename it: whole or not at all.

    Raises:
        Stop: a column is missing, superfluous or of another type; or the disk does not take it.
    """
    if isinstance(rows, pl.DataFrame):
        _check(path, rows.schema, table)
        rows = rows.to_arrow()
    elif rows.schema != arrow_schema(table):
        _check(path, pl.Schema(pl.DataFrame(rows).schema), table)
    try:
        _replace(path, rows, {**metadata, _VERSION: str(table.version)})
    except OSError as error:
        why = error.strerror or str(error)
        raise Stop(
            f"`{path}` cannot be written ({why}); make room or name another lake."
        ) from error


def _replace(path: Path, rows: pa.Table, metadata: Mapping[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            _parquet(file, rows, metadata)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _parquet(file: IO[bytes], rows: pa.Table, metadata: Mapping[str, str]) -> None:
    # A dictionary and a compressor for every column of a table of five rows would cost more than
    # reading its archive did.
    small = rows.num_rows < _SMALL
    with pq.ParquetWriter(
        file,
        rows.schema,
        compression=dict.fromkeys(_LONG, "zstd") if small else "zstd",
        use_dictionary=not small,
        write_statistics=not small,
        store_schema=False,
    ) as writer:
        writer.write_table(rows)
        writer.add_key_value_metadata(dict(metadata))


@cache
def arrow_schema(table: schema.Table) -> pa.Schema:
    """Return the columns as pyarrow writes them."""
    return pl.DataFrame(schema=table.polars).to_arrow().schema


def scan(paths: Iterable[Path], table: schema.Table) -> pl.LazyFrame:
    """Return the rows of the files, in the order given.

    Raises:
        Stop: a file cannot be read or has not the table's columns.
    """
    paths = list(paths)
    for path in paths:
        _check(path, _columns(path), table)
    if not paths:
        return pl.LazyFrame(schema=table.polars)
    return pl.scan_parquet(paths, schema=table.polars, glob=False)


def as_turn(row: Mapping[str, Any]) -> Turn:
    """Return a row of the turns or episodes table as a value."""
    fields = {name: row[name] for name in _TURN_FIELDS}
    closed_by = row["closed_by"]
    fields |= {
        "session_id": SessionId(row["session_id"]),
        "started_at": _utc(row["started_at"]),
        "ended_at": _utc(row["ended_at"]),
        "steering": tuple(row["steering"]),
        "answers": tuple(row["answers"]),
        "subagents": tuple(row["subagents"]),
        "tools": tuple(_as_call(tool) for tool in row["tools"]),
        "closed_by": ClosedBy(closed_by) if closed_by else None,
    }
    return Turn(**fields)


def as_episode(row: Mapping[str, Any]) -> Episode:
    """Return a row of the episodes table as a value."""
    fields = {name: row[name] for name in _EPISODE_FIELDS}
    return Episode(turn=as_turn(row), **fields | {"parts": tuple(row["parts"])})


_TURN_FIELDS = schema.TURNS.polars.names()
_EPISODE_FIELDS = [name for name in schema.EPISODES.polars.names() if name not in _TURN_FIELDS]


def _as_call(tool: Mapping[str, Any]) -> ToolCall:
    return ToolCall(**{**tool, "ended_at": _utc(tool["ended_at"])})


def _utc(time: datetime | None) -> datetime | None:
    return time.replace(tzinfo=UTC) if time is not None else None


def _columns(path: Path) -> Mapping[str, pl.DataType]:
    try:
        return pl.read_parquet_schema(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise _refusal(path, "cannot be read") from error


def _check(path: Path, found: Mapping[str, Any], table: schema.Table) -> None:
    """Compare columns by name, type and order; say which one is wrong."""
    wanted = table.polars
    for name, dtype in wanted.items():
        if name not in found:
            raise _refusal(path, f"lacks the column `{name}`")
        if found[name] != dtype:
            raise _refusal(path, f"has `{name}` as {found[name]} instead of {dtype}")
    for name in found:
        if name not in wanted:
            raise _refusal(path, f"has a column `{name}` that `{table.name}` does not know")
    if list(found) != list(wanted):
        raise _refusal(path, f"has the columns of `{table.name}` in another order")


def _refusal(path: Path, what: str) -> Stop:
    return Stop(f"`{path}` {what}; delete it, and the next run makes it anew.")


def _names(folder: Path) -> list[str]:
    """Return what lies in a folder, sorted; nothing if it is none."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208  ten thousand names, no paths
    except (FileNotFoundError, NotADirectoryError):
        return []


def _sync_folder(folder: Path) -> None:
    """Make a rename last. Not every system can open a folder; there it lasts without."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
