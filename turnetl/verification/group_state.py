"""The tables of a group with what follows from its receipts: which episodes there must be."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import polars as pl

from turnetl.base import ids
from turnetl.base.model import GroupId, SessionId, TurnId
from turnetl.graph import graphiti_names
from turnetl.graph.group_tables import LINKS, GroupTables

_EXPECTED = pl.Schema(
    {"turn_id": pl.String, "session_id": pl.String, "number": pl.Int64, "uuid": pl.String}
)


@dataclass(frozen=True)
class GroupState:
    """A group as it was read, and as its receipts say that it must be."""

    group: GroupId
    tables: GroupTables
    dimensions: int | None
    """Of its embeddings; None: not recorded."""

    @cached_property
    def commits(self) -> pl.DataFrame:
        """The turns to verify, in the order of their sessions: those in both reads.

        A turn that was committed meanwhile is not verified; one that was undone is gone.
        """
        after = self.tables.commits_after.select("turn_id")
        both = self.tables.commits.join(after, on="turn_id", how="semi")
        return both.sort("session_id", "started_at", "turn_id")

    @cached_property
    def known_commits(self) -> pl.DataFrame:
        """The turns of both reads, each once."""
        tables = self.tables
        return pl.concat([tables.commits, tables.commits_after]).unique("turn_id", keep="last")

    @property
    def committed_meanwhile(self) -> int:
        return self._changed.filter("is_new").height

    @property
    def undone_meanwhile(self) -> int:
        return self._changed.filter(~pl.col("is_new")).height

    @cached_property
    def _changed(self) -> pl.DataFrame:
        before, after = self.tables.commits, self.tables.commits_after
        columns = ("turn_id", "session_id")
        new = after.join(before, on="turn_id", how="anti").select(*columns, is_new=True)
        gone = before.join(after, on="turn_id", how="anti").select(*columns, is_new=False)
        return pl.concat([new, gone])

    @cached_property
    def expected(self) -> pl.DataFrame:
        """The episodes that `known_commits` wrote: a row per chunk."""
        commits = self.known_commits.select("turn_id", "session_id", "chunks")
        rows = [
            (turn, session, number, ids.chunk_id(TurnId(turn), number))
            for turn, session, chunks in commits.iter_rows()
            for number in range(chunks)
        ]
        return pl.DataFrame(rows, schema=_EXPECTED, orient="row")

    @cached_property
    def own_episodes(self) -> pl.DataFrame:
        """The episodes that turnetl wrote: those of its turns, and those described as such."""
        is_known = pl.col("uuid").is_in(self.expected["uuid"].implode())
        is_own = pl.col("source_description") == graphiti_names.SOURCE_DESCRIPTION
        return self.tables.episodes.filter(is_known | is_own.fill_null(value=False))

    @cached_property
    def incomplete_turns(self) -> pl.DataFrame:
        """The turns to verify that lack an episode: `turn_id`, `session_id`, `chunks`, `found`."""
        held = self.tables.episodes.select("uuid").unique()
        found = self.expected.join(held, on="uuid", how="semi").group_by("turn_id").len("found")
        counted = self.commits.join(found, on="turn_id", how="left").with_columns(
            pl.col("found").cast(pl.Int64).fill_null(0)
        )
        incomplete = counted.filter(pl.col("found") < pl.col("chunks"))
        return incomplete.select("turn_id", "session_id", "chunks", "found")

    @cached_property
    def sessions(self) -> dict[SessionId, list[str]]:
        """The episodes of each session whose links can be verified, in order.

        Without sessions that changed meanwhile, or that lack an episode, which is a finding itself.
        """
        skipped = pl.concat([self._changed, self.incomplete_turns], how="diagonal")["session_id"]
        settled = self.commits.filter(~pl.col("session_id").is_in(skipped.implode()))
        rows = (
            settled.select("turn_id", "session_id")
            .with_row_index("position")
            .join(self.expected.select("turn_id", "number", "uuid"), on="turn_id")
            .sort("position", "number")
        )
        sessions: dict[SessionId, list[str]] = {}
        for session, uuid in rows.select("session_id", "uuid").iter_rows():
            sessions.setdefault(SessionId(session), []).append(uuid)
        return sessions

    @cached_property
    def entities_new(self) -> pl.Series:
        """Uuids of the entities that a turn created."""
        return self.known_commits["entities_new"].explode().drop_nulls().unique().alias("uuid")

    @cached_property
    def facts_new(self) -> pl.Series:
        """Uuids of the facts that a turn created."""
        return self.known_commits["facts_new"].explode().drop_nulls().unique().alias("uuid")


def chain(episodes: list[str]) -> pl.DataFrame:
    """Return the NEXT_EPISODE links of episodes in order."""
    return pl.DataFrame(list(pairwise(episodes)), schema=LINKS, orient="row")
