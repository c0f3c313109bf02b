"""Generated session-level graphs, and what of them a migration leaves: written down independently.

Summaries and notes are about the same few files, so that they share entities and facts.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise

from hypothesis import strategies as st

from tests.legacy.graphs import entity_uuid, write_community, write_legacy_graph, write_saga
from tests.legacy.sessions import LegacySession
from tests.legacy.styles import LegacyEpisode, LegacyStyle, legacy_episode

FILES = ("cart.py", "orders.py", "tax.py", "mail.py")
_TIMES = (None, datetime(2026, 9, 1, tzinfo=UTC), datetime(2020, 1, 1, tzinfo=UTC))
_FILE_LISTS = st.lists(st.sampled_from(FILES), unique=True, max_size=3).map(tuple)


@dataclass(frozen=True)
class LegacyGraph:
    """What other programs wrote into a group."""

    group: str
    episodes: tuple[LegacyEpisode, ...]
    """Summaries of sessions, and notes of other programs."""
    sagas: tuple[tuple[str, ...], ...]
    """Uuids of the episodes of each."""
    communities: tuple[tuple[str, ...], ...]
    """Names of the members of each, which are files of the episodes."""

    async def write(self, url: str) -> None:
        await write_legacy_graph(url, self.episodes, self.group)
        for number, episodes in enumerate(self.sagas):
            await write_saga(url, self.group, f"saga {number}", episodes)
        for number, names in enumerate(self.communities):
            members = [entity_uuid(self.group, name) for name in names]
            await write_community(url, self.group, f"community {number}", members)

    def left_by(self, moved: Collection[str], lines: Sequence[str]) -> list[str]:
        """Return the lines of the graph that stay when these episodes are gone.

        Args:
            moved: uuids of episodes.
            lines: all of the graph.
        """
        staying = [one for one in self.episodes if one.uuid not in moved]
        facts = {pair for one in staying for pair in pairwise(one.files)}
        files = {name for one in staying for name in one.files}
        gone_files = {name for one in self.episodes for name in one.files} - files
        gone = {*moved, *(entity_uuid(self.group, name) for name in gone_files)}
        gone |= {
            f"saga {number}"
            for number, episodes in enumerate(self.sagas)
            if not set(episodes) - set(moved)
        }
        gone |= {
            f"community {number}"
            for number, names in enumerate(self.communities)
            if not set(names) & files
        }
        texts = {
            f"{one} was changed with {other}"
            for episode in self.episodes
            for one, other in pairwise(episode.files)
        } - {f"{one} was changed with {other}" for one, other in facts}
        return _without(lines, self.group, gone | texts)


def _without(lines: Sequence[str], group: str, gone: Collection[str]) -> list[str]:
    """Return the lines without nodes with such a uuid, name or text, and without their edges."""
    rows = [(line, *json.loads(line)) for line in lines]
    removed = set(gone)
    for _, _, row in rows:
        known = {row.get("uuid"), row.get("name"), row.get("fact")} & set(gone)
        if row.get("group_id") == group and known:
            removed.add(row["uuid"])
    return [
        line
        for line, label, row in rows
        if row.get("uuid") not in removed and not set(_ends(label)) & removed
    ]


def _ends(label: object) -> list[str]:
    return label[1:] if isinstance(label, list) and len(label) == 3 else []


@st.composite
def legacy_graphs(draw: st.DrawFn, sessions: Sequence[LegacySession], group: str) -> LegacyGraph:
    """Generate summaries of these sessions in any style and at any time, among foreign data."""
    episodes = [
        replace(legacy_episode(session, style, run_at=draw(st.sampled_from(_TIMES))), files=files)
        for session, style, files in draw(_summaries(sessions))
    ]
    episodes += [
        LegacyEpisode(
            f"note-{number}",
            f"Note {number}",
            f"Grace and Alan talked about lunch number {number}.",
            "text",
            "a note",
            datetime(2026, 3, 4 + number, tzinfo=UTC),
            files,
        )
        for number, files in enumerate(draw(st.lists(_FILE_LISTS, max_size=2)))
    ]
    uuids = st.sampled_from([one.uuid for one in episodes])
    files = sorted({name for one in episodes for name in one.files})
    members = st.lists(st.sampled_from(files), unique=True, min_size=1, max_size=2).map(tuple)
    sagas = draw(st.lists(st.lists(uuids, unique=True, min_size=1).map(tuple), max_size=2))
    communities = draw(st.lists(members, max_size=2)) if files else []
    return LegacyGraph(group, tuple(episodes), tuple(sagas), tuple(communities))


def _summaries(
    sessions: Sequence[LegacySession],
) -> st.SearchStrategy[list[tuple[LegacySession, LegacyStyle, tuple[str, ...]]]]:
    """Generate at least one session with its id, and other summaries in any style."""
    first = st.tuples(st.just(sessions[0]), st.just(LegacyStyle.NAME), _FILE_LISTS)
    others = st.tuples(st.sampled_from(sessions), st.sampled_from(LegacyStyle), _FILE_LISTS)
    return st.tuples(
        first,
        st.lists(others, max_size=3, unique_by=lambda one: (one[0].session_id, one[1])),
    ).map(lambda found: [found[0], *(one for one in found[1] if one[:2] != found[0][:2])])
