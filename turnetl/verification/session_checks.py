"""Checks of sessions: the saga with its episodes, and the chain from one to the next."""

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from turnetl.base import ids
from turnetl.base.model import SessionId
from turnetl.graph.group_repair import SessionLinks
from turnetl.graph.group_tables import LINKS
from turnetl.verification.check import Check
from turnetl.verification.group_state import GroupState, chain
from turnetl.verification.turn_checks import Examples


@dataclass(frozen=True, slots=True)
class _SessionProblem:
    """A session whose links are not as they should be, and the repair of all of them."""

    links: SessionLinks
    is_bounded: bool
    """Whether its saga names its first and its last episode."""


def session_checks(state: GroupState) -> Iterator[Examples]:
    problems = list(_problems(state))
    yield Check.SAGA_LINKS, [_session(each) for each in problems if _has_wrong_saga(each)]
    yield Check.NEXT_LINKS, [_session(each) for each in problems if _has_wrong_chain(each)]


def session_repairs(state: GroupState) -> Iterator[SessionLinks]:
    for problem in _problems(state):
        yield problem.links


def _session(problem: _SessionProblem) -> str:
    return f"session {problem.links.session_id}"


def _has_wrong_saga(problem: _SessionProblem) -> bool:
    links = problem.links
    return bool(links.saga_links_created or links.saga_links_removed or not problem.is_bounded)


def _has_wrong_chain(problem: _SessionProblem) -> bool:
    return bool(problem.links.next_links_created or problem.links.next_links_removed)


def _problems(state: GroupState) -> Iterator[_SessionProblem]:
    """Yield the sessions with a wrong link, by id."""
    expected = _expected(state)
    next_removed, next_created = _differences(
        state.tables.next_links, expected.next_links, expected
    )
    saga_removed, saga_created = _differences(
        state.tables.saga_links, expected.saga_links, expected
    )
    bounds = {
        uuid: (first, last) for uuid, first, last in state.tables.sagas.unique("uuid").iter_rows()
    }
    # Another program may have added an episode of its own to a session.
    foreign = set(state.tables.episodes["uuid"]) - set(state.own_episodes["uuid"])
    for session, of_session in sorted(state.sessions.items()):
        saga = ids.saga_id(state.group, session)
        first, last = bounds.get(saga, (None, None))
        links = SessionLinks(
            session_id=session,
            saga=saga,
            first=of_session[0],
            last=of_session[-1],
            saga_links_removed=tuple(target for _, target in saga_removed.get(session, [])),
            saga_links_created=tuple(target for _, target in saga_created.get(session, [])),
            next_links_removed=tuple(next_removed.get(session, [])),
            next_links_created=tuple(next_created.get(session, [])),
        )
        is_bounded = first in {links.first, *foreign} and last in {links.last, *foreign}
        problem = _SessionProblem(links, is_bounded)
        if _has_wrong_saga(problem) or _has_wrong_chain(problem):
            yield problem


@dataclass(frozen=True, slots=True)
class _Expected:
    """The links of all sessions, and the session of each of their episodes."""

    next_links: pl.DataFrame
    saga_links: pl.DataFrame
    session_of: pl.DataFrame
    """`uuid`, `session_id`: episodes, and sagas as the uuid of their session."""


def _expected(state: GroupState) -> _Expected:
    sessions = state.sessions
    sagas = {session: ids.saga_id(state.group, session) for session in sessions}
    next_links = [chain(episodes) for episodes in sessions.values()]
    saga_links = [(sagas[session], uuid) for session, uuids in sessions.items() for uuid in uuids]
    members = [
        (uuid, session) for session, uuids in sessions.items() for uuid in (sagas[session], *uuids)
    ]
    return _Expected(
        next_links=pl.concat([pl.DataFrame(schema=LINKS), *next_links]),
        saga_links=pl.DataFrame(saga_links, schema=LINKS, orient="row"),
        session_of=pl.DataFrame(
            members, schema={"uuid": pl.String, "session_id": pl.String}, orient="row"
        ),
    )


_Links = dict[SessionId, list[tuple[str, str]]]


def _differences(
    stored: pl.DataFrame, expected: pl.DataFrame, sessions: _Expected
) -> tuple[_Links, _Links]:
    """Return by session the links to remove and those to create, of links within its episodes.

    A link that is there several times is in both.
    """
    source = sessions.session_of.rename({"uuid": "source"})
    target = sessions.session_of.rename({"uuid": "target"})
    counted = stored.group_by("source", "target").len("count")
    wanted = expected.with_columns(wanted=True)
    compared = (
        counted.join(wanted, on=["source", "target"], how="full", coalesce=True)
        .join(source, on="source")
        .join(target, on="target", suffix="_of_target")
        .filter(pl.col("session_id") == pl.col("session_id_of_target"))
        .with_columns(pl.col("wanted").fill_null(value=False), pl.col("count").fill_null(0))
        .sort("source", "target")
    )
    is_double = pl.col("count") > 1
    removed = compared.filter((~pl.col("wanted") & (pl.col("count") > 0)) | is_double)
    created = compared.filter(pl.col("wanted") & ((pl.col("count") == 0) | is_double))
    return _by_session(removed), _by_session(created)


def _by_session(links: pl.DataFrame) -> _Links:
    of_session: _Links = {}
    for session, source, target in links.select("session_id", "source", "target").iter_rows():
        of_session.setdefault(SessionId(session), []).append((source, target))
    return of_session
