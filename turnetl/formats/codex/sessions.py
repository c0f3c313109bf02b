"""The sessions of one rollout: its own and, if it is a fork, those whose turns it repeats.

A fork starts with its own `session_meta`. All rows of its parent follow, the parent's
`session_meta` first, with the time of the fork in place of their own. A copied turn keeps its id,
which holds the time at which it was created.
"""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from turnetl.formats.codex.rows import CodexItem
from turnetl.formats.port import parse_time

_ID = re.compile(r"[\w.:-]+")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_SERVER_ID = re.compile(r"[a-z]+_([0-9a-f]{8})[0-9a-f]{24,}")
"""Ids of 2025 start with the seconds since 1970. Later ones do not, and give a distant time."""
_MAX_DISTANCE = timedelta(days=366)
_TIME_VERSION = "7"
"""The version of UUIDs that start with the time."""
_AGENT_THREADS = {"subagent", "memory_consolidation", "guardian_review", "guardian", "review"}
"""Threads that no user started."""
_PAUSE = timedelta(seconds=1)
"""Copied rows are written within this time of each other; prompts of a user are not."""


@dataclass(slots=True)
class CodexSessions:
    """The sessions of one rollout, as far as it was read."""

    own: str | None = None
    is_subagent: bool = False
    started_by: str | None = None
    """The session whose agent started the own one, if that is a subagent and says so."""
    role: str | None = None
    """The type of the subagent."""
    replaying: bool = False
    """Whether the rows are copies, which have the time of the fork."""
    start: datetime | None = None
    _has_own: bool = False
    _last: str | None = None
    _starts: dict[str, datetime | None] = field(default_factory=dict)
    _parents: dict[str, str | None] = field(default_factory=dict)
    _has_timed_ids: bool = False
    """Whether copied turns have ids with their time."""
    _last_time: datetime | None = None

    def read_meta(self, meta: CodexItem) -> None:
        """Read a `session_meta`. The first is the rollout's own."""
        session = _session_id(meta.id)
        if not self._has_own:
            self._read_own_meta(meta, session)
        elif session is not None:
            self._read_other_meta(session, _creation_time(session) or parse_time(meta.timestamp))
        if session is not None:
            self._starts[session] = _creation_time(session) or parse_time(meta.timestamp)
            self._parents.setdefault(session, _session_id(meta.forked_from_id))
            self._last = session

    def observe_time(self, written_at: datetime | None) -> None:
        """Follow the time of each row: a pause ends the copied rows if no id holds a time."""
        before, self._last_time = self._last_time, written_at or self._last_time
        if self._has_timed_ids or before is None or written_at is None:
            return
        self.replaying = self.replaying and written_at - before <= _PAUSE

    def observe_turn(self, turn_id: str | None) -> None:
        """Follow the turns of a subagent, whose prompts open none: its own ends the copied rows."""
        if self.replaying:
            self.assign_session(turn_id, None)

    def assign_session(
        self, turn_id: str | None, written_at: datetime | None
    ) -> tuple[str, datetime | None]:
        """Return a prompt's session and time; a copy whose id has none has its session's start."""
        if not self._is_fork():
            return self.own or "", written_at
        created = _creation_time(turn_id)
        if created is None:
            return self._assign_by_row_time(written_at)
        self._has_timed_ids = True
        starts = [
            (start, name) for name, start in self._starts.items() if start and start <= created
        ]
        _, session = max(starts, default=(None, self._last))
        self.replaying = session != self.own
        return session or "", created if self.replaying else written_at

    def item_time(self, item_id: str | None) -> datetime | None:
        """Return the time in the id that the model's server gave to an item, if it holds one."""
        match = _SERVER_ID.fullmatch(item_id or "")
        if match is None or self.start is None:
            return None
        time = parse_epoch(int(match[1], 16))
        return time if time is not None and abs(time - self.start) < _MAX_DISTANCE else None

    def parent(self, session: str) -> str | None:
        return self._parents.get(session)

    def _read_own_meta(self, meta: CodexItem, session: str | None) -> None:
        self._has_own, self.own = True, session
        self.is_subagent = _is_subagent(meta)
        parent = _of_spawn(meta.source, "parent_thread_id") or meta.parent_thread_id
        self.started_by = _session_id(parent or meta.forked_from_id)
        self.role = _of_spawn(meta.source, "agent_role")
        self.start = parse_time(meta.timestamp)
        origin = _session_id(meta.forked_from_id)
        if origin is not None and session is not None:
            self.replaying = True
            self._starts[origin] = _creation_time(origin)

    def _read_other_meta(self, session: str, start: datetime | None) -> None:
        """Read another `session_meta`: an ancestor's, unless it is as recent as the own session."""
        own = self._starts.get(self.own or "")
        is_newer = own is not None and start is not None and start >= own
        self.replaying = session != self.own and not is_newer
        if self.replaying and self.own is not None and self._parents.get(self.own) is None:
            self._parents[self.own] = session
        if is_newer:
            self.own, self.start = session, start

    def _is_fork(self) -> bool:
        return len(self._starts) > 1

    def _assign_by_row_time(self, written_at: datetime | None) -> tuple[str, datetime | None]:
        if not self.replaying:
            return self.own or "", written_at
        others = [name for name in self._starts if name != self.own]
        session = self._last if self._last != self.own else others[-1]
        return session or "", self._starts.get(session or "")


def is_unique(turn_id: str | None) -> bool:
    """Return whether a turn's id is globally unique. Old ids are numbers within a session."""
    return turn_id is not None and _UUID.fullmatch(turn_id) is not None


def unique_id(turn_id: str | None) -> str | None:
    return turn_id if is_unique(turn_id) else None


def parse_epoch(value: Any) -> datetime | None:
    """Return a time that is a text or a number of seconds since 1970."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        return parse_time(value)
    try:
        return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _session_id(name: str | None) -> str | None:
    """Return a session's id; None if the field holds something else."""
    return name if name is not None and _ID.fullmatch(name) else None


def _creation_time(name: str | None) -> datetime | None:
    if name is None or not is_unique(name) or name[14] != _TIME_VERSION:
        return None
    milliseconds = int(name[:8] + name[9:13], 16)
    return parse_epoch(milliseconds / 1000)


def _is_subagent(meta: CodexItem) -> bool:
    source = meta.source
    is_nested = isinstance(source, dict) and ("subagent" in source or "internal" in source)
    return is_nested or meta.thread_source in _AGENT_THREADS


def _of_spawn(source: Any, key: str) -> str | None:
    """Return a text about the start of a subagent: `{"subagent": {"thread_spawn": {…}}}`."""
    for name in ("subagent", "thread_spawn", key):
        source = source.get(name) if isinstance(source, dict) else None
    return source if isinstance(source, str) else None
