"""The tokens of subagents that belong to selected turns.

A subagent is in no turn, but a session started it: the tokens of a day belong to the turn of that
session that was the last to start when the first message of the day was written.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from turnetl.base import ids
from turnetl.base.model import GroupId, SubagentUsage
from turnetl.lake import Lake


@dataclass(frozen=True, slots=True)
class SelectedUsage:
    """The part of an archive's tokens of subagents that belongs to the selected turns."""

    usage: tuple[SubagentUsage, ...]
    left_out: frozenset[str]
    """Subagents whose turn is not known, and may be one of the selected ones."""


@dataclass(frozen=True, slots=True)
class SessionTurns:
    """When the turns of each session started, and whether they are selected."""

    sessions: Mapping[str, Sequence[tuple[datetime, bool]]]
    """By digest of the session's id; oldest first."""

    @classmethod
    def of(cls, lake: Lake, groups: Collection[GroupId], condition: pl.Expr) -> "SessionTurns":
        """Read the turns files of groups.

        Args:
            lake: has them.
            groups: of these files.
            condition: which rows of `schema.TURNS` are selected.
        """
        sessions: dict[str, list[tuple[datetime, bool]]] = {}
        for group in groups:
            turns = lake.scan_turns(group).filter(pl.col("started_at").is_not_null())
            rows = turns.select("session_id", "started_at", selected=condition).collect()
            for session, started_at, is_selected in rows.iter_rows():
                sessions.setdefault(ids.digest(session), []).append((started_at, is_selected))
        return cls({name: sorted(turns) for name, turns in sessions.items()})

    def select(self, usage: Iterable[SubagentUsage], own_sessions: Iterable[str]) -> SelectedUsage:
        """Return the tokens that belong to selected turns.

        Args:
            usage: of an archive.
            own_sessions: ids of the sessions of its turns: one of these started a subagent that
                does not say which.
        """
        own = [ids.digest(session) for session in own_sessions]
        kept, left_out = list[SubagentUsage](), set[str]()
        for one in usage:
            is_selected = self._is_selected(one, [one.session] if one.session else own)
            if is_selected:
                kept.append(one)
            elif is_selected is None:
                left_out.add(one.subagent)
        return SelectedUsage(tuple(kept), frozenset(left_out))

    def _is_selected(self, usage: SubagentUsage, sessions: Iterable[str]) -> bool | None:
        """Return whether the turn of tokens is selected; None: it is not known which turn it is."""
        turns = sorted(turn for name in sessions for turn in self.sessions.get(name, ()))
        if usage.started_at is not None:
            # After all turns that started at the same time.
            after = bisect_right(turns, (usage.started_at, True))
            if after:
                return turns[after - 1][1]
        if len(found := {is_selected for _, is_selected in turns}) == 1:
            return found.pop()
        return None
