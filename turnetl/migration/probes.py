"""Search probes: questions whose session is known, and where a search finds it. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from turnetl.base import ids
from turnetl.base.errors import BadUsage
from turnetl.base.model import GroupId, SessionId
from turnetl.base.tsv_file import read_tsv
from turnetl.migration.compare import OldData
from turnetl.migration.comparison import SearchProbe

MOST_PROBES = 200
"""Generated for a group."""
_COLUMNS = ("question", "session")
_ROW_NEEDS = "a question and the id of its session, separated by a tab"
_FEWEST_WORDS = 3
"""Of an old fact that is a probe."""


def read_probes(path: Path) -> list[SearchProbe]:
    """Read the questions of a file: a table separated by tabs with `question` and `session`.

    A question may be in several rows, with a session each.

    Raises:
        BadUsage: the file cannot be read, or a row lacks a question or a session; says where.
    """
    sessions: dict[str, set[SessionId]] = {}
    for row in read_tsv(path, _COLUMNS, row_needs=_ROW_NEEDS):
        question, session = (row.values[name] for name in _COLUMNS)
        sessions.setdefault(question, set()).add(SessionId(session))
    return [SearchProbe(question, tuple(sorted(known))) for question, known in sessions.items()]


def generated_probes(old: OldData, *, limit: int = MOST_PROBES) -> list[SearchProbe]:
    """Return old facts as probes: their texts must lead to their sessions.

    Each session gives one before any gives a second one. The choice depends on the facts only.

    Args:
        old: the old data; a fact whose session is not known is none.
        limit: at most this many.
    """
    sessions: dict[str, set[SessionId]] = {}
    for fact in old.data.facts:
        known = {old.sessions[one] for one in fact.turns if one in old.sessions}
        text = " ".join(fact.text.split())
        if known and len(text.split()) >= _FEWEST_WORDS:
            sessions.setdefault(text, set()).update(known)
    drawn = sorted(sessions, key=ids.digest)
    rounds: dict[SessionId, int] = {}
    turns: list[tuple[int, str]] = []
    for text in drawn:
        first = min(sessions[text])
        turns.append((rounds.get(first, 0), text))
        rounds[first] = rounds.get(first, 0) + 1
    turns.sort(key=lambda turn: turn[0])
    return [SearchProbe(text, tuple(sorted(sessions[text]))) for _, text in turns[:limit]]


def rank_of(probe: SearchProbe, found: Iterable[SessionId | None]) -> int | None:
    """Return the rank of the first right session among the distinct sessions of hits, from 1.

    Args:
        probe: with the right sessions.
        found: the session of each hit, best first; None if it has none, which counts as another.
    """
    seen: set[SessionId] = set()
    unknown = 0
    for session in found:
        if session in probe.sessions:
            return len(seen) + unknown + 1
        if session is None:
            unknown += 1
        else:
            seen.add(session)
    return None


def of_known_sessions(
    probes: Sequence[SearchProbe], groups: Mapping[GroupId, frozenset[SessionId]]
) -> dict[GroupId, list[SearchProbe]]:
    """Return the probes of each group: those with a session that it has.

    Raises:
        BadUsage: a probe names no session of these groups.
    """
    for probe in probes:
        if all(sessions.isdisjoint(probe.sessions) for sessions in groups.values()):
            raise BadUsage(
                f"no migration has the session `{probe.sessions[0]}` of the question "
                f"`{probe.question}`: correct its id, or remove the question"
            )
    return {
        group: [probe for probe in probes if not sessions.isdisjoint(probe.sessions)]
        for group, sessions in groups.items()
    }
