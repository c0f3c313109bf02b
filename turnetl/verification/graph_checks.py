"""Checks of a group in the graph: turns, sessions, entities, facts, vectors, and foreign data."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import polars as pl

from turnetl.base import ids
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import SessionId, TurnId, Vector
from turnetl.graph import graphiti_names
from turnetl.graph.group_repair import DoubleMention, SessionLinks, UnattachedFact, UnusedEntity
from turnetl.graph.group_tables import LINKS
from turnetl.llm.vectors import stack, unpack
from turnetl.verification.check import Check
from turnetl.verification.group_state import GroupState, chain

Examples = tuple[Check, list[str]]
"""A check, and all that it found."""


def turn_checks(state: GroupState) -> Iterator[Examples]:
    incomplete = state.incomplete_turns
    yield Check.MISSING_EPISODES, turn_examples(incomplete.filter(pl.col("found") == 0))
    yield (
        Check.HALF_WRITTEN,
        [
            f"turn {turn}: {found} of {chunks} episodes"
            for turn, chunks, found in incomplete.filter(pl.col("found") > 0)
            .select("turn_id", "chunks", "found")
            .iter_rows()
        ],
    )
    known = state.expected["uuid"].implode()
    unknown = state.own_episodes.filter(~pl.col("uuid").is_in(known))
    yield Check.NO_RECEIPT, [f"episode {uuid}" for uuid in unknown["uuid"]]
    yield Check.DUPLICATE_EPISODES, [*_same_ids(state), *_same_turns(state.commits)]


def _same_ids(state: GroupState) -> list[str]:
    counts = state.own_episodes.group_by("uuid").len().filter(pl.col("len") > 1)
    return [f"episode {uuid}: {count} nodes" for uuid, count in counts.iter_rows()]


def _same_turns(commits: pl.DataFrame) -> list[str]:
    """Return each turn that repeats an earlier commit."""
    same = ["session_id", "started_at", "text_hash"]
    ordered = commits.sort("sequence")
    first = pl.col("turn_id").first().over(same)
    repeated = ordered.with_columns(first=first).filter(pl.col("turn_id") != pl.col("first"))
    return [
        f"turn {turn} repeats turn {earlier}"
        for turn, earlier in repeated.select("turn_id", "first").iter_rows()
    ]


def turn_examples(rows: pl.DataFrame) -> list[str]:
    return [f"turn {turn}" for turn in rows["turn_id"]]


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


def entity_checks(state: GroupState) -> Iterator[Examples]:
    yield (
        Check.DOUBLE_MENTIONS,
        [
            f"episode {episode} mentions entity {entity} {count} times"
            for episode, entity, count in _double_mentions(state).iter_rows()
        ],
    )
    missing = _missing(state.commits["entities_new"], state.tables.entities)
    yield Check.MISSING_ENTITIES, [f"entity {uuid}" for uuid in missing]
    yield Check.SUMMARISED_ENTITIES, [f"entity {uuid}" for uuid in _missing_summarised(state)]
    yield Check.UNUSED_ENTITIES, _named(_unused(state))
    yield Check.DUPLICATE_NAMES, _duplicate_names(state.tables.entities)


def entity_repairs(state: GroupState) -> Iterator[DoubleMention | UnusedEntity]:
    for episode, entity, _ in _double_mentions(state).iter_rows():
        yield DoubleMention(episode, entity)
    created = state.known_commits.select("turn_id", uuid="entities_new").explode("uuid")
    unused = created.join(_unused(state), on="uuid", how="semi").sort("uuid", "turn_id")
    for turn, uuid in unused.iter_rows():
        yield UnusedEntity(uuid, TurnId(turn))


def _double_mentions(state: GroupState) -> pl.DataFrame:
    """Return `episode`, `entity`, `len`, sorted. Two nodes with one id are another finding."""
    own = state.own_episodes.group_by("uuid").len("nodes").filter(pl.col("nodes") == 1)
    mentions = state.tables.mentions.join(own, left_on="episode", right_on="uuid", how="semi")
    counts = mentions.group_by("episode", "entity").len()
    return counts.filter(pl.col("len") > 1).sort("episode", "entity")


def _missing(created: pl.Series, held: pl.DataFrame) -> list[str]:
    uuids = created.explode().drop_nulls().unique()
    return uuids.filter(~uuids.is_in(held["uuid"].implode())).to_list()


def _missing_summarised(state: GroupState) -> list[str]:
    """Return the missing entities of records, without those that are missing already."""
    commits = state.commits
    recorded = commits["summarised"].explode().drop_nulls().unique().sort()
    known = pl.concat([state.tables.entities["uuid"], commits["entities_new"].explode()])
    return recorded.filter(~recorded.is_in(known.drop_nulls().implode())).to_list()


def _unused(state: GroupState) -> pl.DataFrame:
    """Return the unused entities that a turn created, without those of a turn without episodes."""
    facts, lacking = state.tables.facts, state.incomplete_turns.select("turn_id")
    used = pl.concat([state.tables.mentions["entity"], facts["source"], facts["target"]])
    excused = state.known_commits.join(lacking, on="turn_id", how="semi")["entities_new"].explode()
    return state.tables.entities.filter(
        pl.col("uuid").is_in(state.entities_new.implode()),
        ~pl.col("uuid").is_in(used.drop_nulls().unique().implode()),
        ~pl.col("uuid").is_in(excused.drop_nulls().implode()),
    )


def _duplicate_names(entities: pl.DataFrame) -> list[str]:
    """Return every entity but the first of those with its name and labels, by uuid."""
    own_labels = pl.col("labels").list.set_difference([graphiti_names.BASE_LABEL])
    labelled = entities.sort("uuid").with_columns(
        key=own_labels.list.unique().list.sort().list.join("\x1f")
    )
    first = pl.col("uuid").first().over("name", "key")
    repeated = labelled.filter(pl.col("uuid") != first).sort("name", "uuid")
    return _named(repeated)


def _named(entities: pl.DataFrame) -> list[str]:
    return [f"entity {uuid} `{name}`" for uuid, name in entities.select("uuid", "name").iter_rows()]


_MARGIN = timedelta(days=1)
"""Clocks differ, and a turn may date a fact by its day."""


def fact_checks(state: GroupState) -> Iterator[Examples]:
    facts = state.tables.facts
    yield Check.ACROSS_GROUPS, [*_facts_across(state), *_mentions_across(state)]
    lacks_end = pl.col("source").is_null() | pl.col("target").is_null()
    yield Check.DANGLING_FACTS, _facts(facts.filter(lacks_end))
    missing = _missing(state.commits["facts_new"], facts)
    yield Check.MISSING_FACTS, [f"fact {uuid}" for uuid in missing]
    yield Check.FACTS_WITHOUT_TURN, _facts(_without_turn(state))
    yield Check.FACTS_IN_FUTURE, _future_facts(state)
    yield from _dimension_checks(state)


def fact_repairs(state: GroupState) -> Iterator[UnattachedFact]:
    ends = ("source", "target")
    unattached = state.tables.facts.filter(*(pl.col(end).is_null() for end in ends))
    for uuid in sorted(unattached["uuid"]):
        yield UnattachedFact(uuid)


def _facts_across(state: GroupState) -> list[str]:
    groups = (pl.col(name) for name in ("source_group", "target_group"))
    is_other = pl.any_horizontal((group != state.group).fill_null(value=False) for group in groups)
    return _facts(state.tables.facts.filter(is_other))


def _mentions_across(state: GroupState) -> list[str]:
    other = state.tables.mentions.filter(pl.col("entity_group") != state.group)
    return [
        f"episode {episode} mentions entity {entity} of group `{group}`"
        for episode, entity, group in other.iter_rows()
    ]


def _without_turn(state: GroupState) -> pl.DataFrame:
    """Return facts of turnetl that name an unknown turn or none, and others with unknown ones only.

    A turn is known by its episode or its receipt. Graphiti leaves removed episodes in the lists of
    facts that another episode states too.
    """
    facts = state.tables.facts
    known = pl.concat([state.tables.episodes["uuid"], state.known_commits["turn_id"]]).unique()
    named = facts.select("uuid", turn="turns").explode("turn").drop_nulls()
    named = named.with_columns(is_known=pl.col("turn").is_in(known.implode()))
    counted = named.group_by("uuid").agg(named=pl.len(), unknown=pl.col("is_known").not_().sum())
    is_own = pl.col("uuid").is_in(state.facts_new.implode())
    of_facts = facts.join(counted, on="uuid", how="left")
    nothing_known = pl.col("unknown") == pl.col("named")
    lacks_any = pl.col("named").is_null() | (pl.col("unknown") > 0)
    return of_facts.filter((is_own & lacks_any) | nothing_known.fill_null(value=False))


def _future_facts(state: GroupState) -> list[str]:
    ended = pl.max_horizontal("started_at", pl.coalesce("ended_at", "committed_at"))
    turns = state.known_commits.select("turn_id", ended=ended)
    dated = (
        state.tables.facts.select("uuid", "valid_at", turn="turns")
        .explode("turn")
        .join(turns, left_on="turn", right_on="turn_id")
        .group_by("uuid")
        .agg(pl.col("valid_at").first(), pl.col("ended").max())
        .filter(pl.col("valid_at") > pl.col("ended") + _MARGIN)
    )
    return [
        f"fact {uuid} holds from {valid_at:%Y-%m-%d}, its turn ended {end:%Y-%m-%d}"
        for uuid, valid_at, end in dated.iter_rows()
    ]


def _dimension_checks(state: GroupState) -> Iterator[Examples]:
    kinds = (("entity", state.tables.entities), ("fact", state.tables.facts))
    sizes = pl.concat(
        [frame.select("uuid", "dimensions", kind=pl.lit(kind)) for kind, frame in kinds]
    )
    is_missing = pl.col("dimensions").fill_null(0) == 0
    is_wrong = ~is_missing & (pl.col("dimensions") != pl.lit(state.dimensions))
    yield (
        Check.WRONG_DIMENSIONS,
        [
            f"{kind} {uuid}: {dimensions} instead of {state.dimensions} dimensions"
            for uuid, dimensions, kind in sizes.filter(is_wrong.fill_null(value=False)).iter_rows()
        ],
    )
    lacking = sizes.filter(is_missing)
    yield Check.MISSING_VECTORS, [f"{kind} {uuid}" for uuid, _, kind in lacking.iter_rows()]


def _facts(facts: pl.DataFrame) -> list[str]:
    return [f"fact {uuid}" for uuid in facts["uuid"]]


def foreign_checks(state: GroupState) -> Iterator[Examples]:
    own = state.own_episodes.select("uuid").unique()
    episodes = state.tables.episodes.join(own, on="uuid", how="anti")["uuid"]
    facts = _foreign_facts(state, own["uuid"])
    entities = _entities(state, own["uuid"], facts)
    found = (("episode", episodes), ("entity", entities), ("fact", facts))
    yield Check.FOREIGN, [f"{kind} {uuid}" for kind, uuids in found for uuid in uuids]


def _foreign_facts(state: GroupState, own_episodes: pl.Series) -> pl.Series:
    """Return the facts that no turn created and that name no episode of a turn."""
    named = state.tables.facts.select("uuid", turn="turns").explode("turn")
    own = named.filter(pl.col("turn").is_in(own_episodes.implode()))["uuid"]
    return state.tables.facts.filter(
        ~pl.col("uuid").is_in(pl.concat([own, state.facts_new]).implode())
    )["uuid"]


def _entities(state: GroupState, own_episodes: pl.Series, foreign_facts: pl.Series) -> pl.Series:
    """Return the entities that no turn created and nothing of a turn uses."""
    is_foreign = pl.col("uuid").is_in(foreign_facts.implode())
    facts = state.tables.facts.filter(~is_foreign)
    mentions = state.tables.mentions.filter(pl.col("episode").is_in(own_episodes.implode()))
    used = pl.concat([mentions["entity"], facts["source"], facts["target"], state.entities_new])
    is_used = pl.col("uuid").is_in(used.drop_nulls().unique().implode())
    return state.tables.entities.filter(~is_used)["uuid"]


EmbedAgain = Callable[[Sequence[str]], Awaitable[Sequence[Vector]]]

_TEXTS = 1000
"""Texts that are embedded together."""
_TOLERANCE = 1e-3
"""Difference of a number that another processor may compute."""
_Embedded = tuple[str, str, Vector]
"""What it is, with its id; its name or text; its embedding."""


async def vector_checks(contents: GroupContents, embed: EmbedAgain | None) -> list[Examples]:
    """Return what is wrong with the vectors of a group; missing ones are not compared.

    Args:
        embed: the embedder that the group was filled with: a vector that is not that of its name or
            text is found by other queries. None: only a vector without a direction is found.
    """
    embedded = list(_with_vectors(contents))
    wrong = [what for what, _, vector in embedded if not _has_direction(vector)]
    if embed is not None:
        for start in range(0, len(embedded), _TEXTS):
            wrong += await _other_than_computed(embedded[start : start + _TEXTS], embed)
    return [(Check.WRONG_VECTORS, sorted(set(wrong)))]


def _with_vectors(contents: GroupContents) -> Iterator[_Embedded]:
    for entity in contents.entities:
        if entity.embedding:
            yield f"entity {entity.uuid}", entity.name, entity.embedding
    for fact in contents.facts:
        if fact.embedding:
            yield f"fact {fact.uuid}", fact.text, fact.embedding


def _has_direction(vector: Vector) -> bool:
    numbers = unpack(vector)
    return bool(np.isfinite(numbers).all() and numbers.any())


async def _other_than_computed(batch: Sequence[_Embedded], embed: EmbedAgain) -> list[str]:
    expected = await embed([text for _, text, _ in batch])
    # A vector of other dimensions is a finding of its own.
    compared = [
        (what, vector, computed)
        for (what, _, vector), computed in zip(batch, expected, strict=True)
        if len(vector) == len(computed)
    ]
    if not compared:
        return []
    stored = stack([vector for _, vector, _ in compared])
    again = stack([vector for _, _, vector in compared])
    close = np.isclose(stored, again, rtol=0, atol=_TOLERANCE)
    is_same = [bool(row.all()) for row in close]
    return [what for (what, _, _), same in zip(compared, is_same, strict=True) if not same]
