"""The episodes tables of a lake, one for each group, and rows of tables as values."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import polars as pl

from turnetl.base import schema
from turnetl.base.model import (
    ClosedBy,
    Episode,
    GroupId,
    MessageUsage,
    SessionId,
    SubagentCall,
    SubagentRun,
    ToolCall,
    Turn,
    TurnId,
)
from turnetl.lake import versions
from turnetl.lake.files import LakeFiles, LocalFiles
from turnetl.lake.parquet import (
    read_metadata,
    reading,
    replace_metadata,
    scan,
    scan_snapshot,
    verify,
)

_Call = TypeVar("_Call", bound=ToolCall)


class EpisodesTables:
    """The tables of one lake. The first write creates its folder.

    `root` is the folder of the lake, or of the copies of its objects; `local` that of what belongs
    to the lake and stays on this machine, by default the same.
    """

    def __init__(
        self, root: Path, files: LakeFiles | None = None, local: Path | None = None
    ) -> None:
        self.root = root
        self.files = files or LocalFiles(root)
        self.local = local or root

    def write_episodes(
        self,
        group: GroupId,
        slices: Iterable[pl.DataFrame],
        metadata: Callable[[], Mapping[str, str]],
    ) -> None:
        """Replace a group's episodes table slice by slice; `metadata` is called at the end."""
        from turnetl.lake.parquet_writer import write_slices  # noqa: PLC0415 - pyarrow

        def encoded_metadata() -> str:
            return versions.metadata_text(metadata(), schema.EPISODES)

        path = self.episodes_path(group)
        write_slices(path, slices, schema.EPISODES, encoded_metadata, self.files.replace)
        self.files.sync(self.episodes_folder)

    def delete_episodes(self, group: GroupId) -> None:
        """Delete a group's episodes table, if there is one, durably."""
        self.files.delete(self.episodes_path(group))
        self.files.sync(self.episodes_folder)

    def episodes_metadata(self, group: GroupId) -> Mapping[str, str] | None:
        """Return the metadata that `write_episodes` stored; None: the group has no table."""
        (path,) = self._fetched([self.episodes_path(group)])
        if not path.exists():
            return None
        text = read_metadata(path)
        versions.check_version(path, text, schema.EPISODES)
        try:
            metadata = msgspec.json.decode(text, type=dict[str, str])
        except msgspec.DecodeError:
            return {}
        return {key: value for key, value in metadata.items() if key != versions.KEY}

    def verify_episodes(self, group: GroupId) -> None:
        """Read all bytes of a group's episodes table, if there is one, and compare its checksum."""
        (path,) = self._fetched([self.episodes_path(group)])
        if path.exists():
            verify(path)

    @contextmanager
    def reading_episodes(self, group: GroupId) -> Iterator[None]:
        """Collect rows of `scan_episodes`; a damaged table raises `TableUnusable`."""
        with reading(self.episodes_path(group)):
            yield

    def scan_episodes(self, group: GroupId) -> pl.LazyFrame:
        """Return the episodes of a group in table order; no rows if there is no table.

        The rows stay the same while they are in use, even if a new table replaces them. Only the
        footer is verified: the caller collects inside `reading_episodes`, and calls
        `verify_episodes` before it writes what depends on the rows.
        """
        (path,) = self._fetched([self.episodes_path(group)])
        if not path.exists():
            return scan([], schema.EPISODES)
        return scan_snapshot(path, schema.EPISODES)

    def episodes(
        self, group: GroupId, turn_ids: Collection[TurnId] | None = None
    ) -> Iterator[Episode]:
        """Yield a group's episodes as values, in table order; None: all of them."""
        rows = self.scan_episodes(group)
        if turn_ids is None:
            self.verify_episodes(group)
        else:
            rows = rows.filter(pl.col("turn_id").is_in(sorted(turn_ids)))
        with self.reading_episodes(group):
            collected = rows.collect()
        return (episode_from_row(row) for row in collected.iter_rows(named=True))

    @property
    def episodes_folder(self) -> Path:
        """The folder of the episodes tables and of their temporary files. It may not exist."""
        return self.root / "episodes"

    def episodes_path(self, group: GroupId) -> Path:
        return self.episodes_folder / f"{group}.parquet"

    def _fetched(self, paths: list[Path]) -> list[Path]:
        """Return the paths, at which files can be read now."""
        self.files.fetch(paths)
        return paths


def replace_episodes_metadata(
    lake: EpisodesTables, group: GroupId, before: Mapping[str, str], after: Mapping[str, str]
) -> bool:
    """Replace the metadata of an episodes table, verified; False: the new one is not as long."""
    old, new = (versions.metadata_text(values, schema.EPISODES) for values in (before, after))
    if len(old.encode()) != len(new.encode()):
        return False
    path = lake.episodes_path(group)
    lake.files.fetch([path])
    replace_metadata(path, old, new, lake.files.replace)
    lake.files.sync(path.parent)
    return True


def turn_from_row(row: Mapping[str, Any]) -> Turn:
    fields = {name: row[name] for name in _TURN_FIELDS}
    closed_by = row["closed_by"]
    fields |= {
        "session_id": SessionId(row["session_id"]),
        "started_at": _utc(row["started_at"]),
        "ended_at": _utc(row["ended_at"]),
        "steering": tuple(row["steering"]),
        "user_answers": tuple(row["user_answers"]),
        "subagent_prompts": tuple(row["subagent_prompts"]),
        "tool_calls": _calls(ToolCall, row["tool_calls"]),
        "closed_by": ClosedBy(closed_by) if closed_by else None,
        "usage": _usage(row["usage"]),
        "places": None if row["places"] is None else tuple(row["places"]),
        "subagents": tuple(map(_subagent_run, row.get("subagents") or ())),
    }
    return Turn(**fields)


def episode_from_row(row: Mapping[str, Any]) -> Episode:
    fields = {name: row[name] for name in _EPISODE_FIELDS}
    chunks = tuple(row["chunks"]) or (row["text"],)
    return Episode(turn=turn_from_row(row), **fields | {"chunks": chunks})


CHUNK_COUNT = pl.max_horizontal(pl.col("chunks").list.len(), 1)
"""Number of chunks of a row of the episodes table, which lists none if the text is one chunk."""
_TURN_FIELDS = [column.name for column in schema.TURN_COLUMNS]
_EPISODE_FIELDS = [
    name
    for name in schema.EPISODES.polars.names()
    if name not in _TURN_FIELDS and name != "subagents"
]


def _usage(messages: Sequence[Mapping[str, Any]] | None) -> tuple[MessageUsage, ...] | None:
    return None if messages is None else tuple(MessageUsage(**one) for one in messages)


def _calls(kind: type[_Call], calls: Sequence[Mapping[str, Any]]) -> tuple[_Call, ...]:
    return tuple(kind(**{**call, "ended_at": _utc(call["ended_at"])}) for call in calls)


def _subagent_run(run: Mapping[str, Any]) -> SubagentRun:
    times = {name: _utc(run[name]) for name in ("started_at", "ended_at")}
    return SubagentRun(**{**run, **times, "tool_calls": _calls(SubagentCall, run["tool_calls"])})


def _utc(time: datetime | None) -> datetime | None:
    return time.replace(tzinfo=UTC) if time is not None else None
