"""Session-level episodes in the form in which an index holds turns."""

from collections.abc import Mapping

from turnetl.base import ids
from turnetl.base.graph_model import CommittedTurn, Receipt
from turnetl.base.model import Fact, SessionId, TurnId, Usage
from turnetl.graph.session_level import UNKNOWN_TIME, SessionLevelData
from turnetl.graph.unrecorded import UnrecordedEpisode


def episode_text(episode: UnrecordedEpisode) -> str:
    """Return the name of the episode as a line, and its text."""
    return f"{' '.join(episode.name.split())}\n\n{episode.text}"


def indexed_episodes(
    data: SessionLevelData, sessions: Mapping[str, SessionId]
) -> list[CommittedTurn]:
    """Return the episodes of a group as an index holds turns, by uuid.

    Their `content_hash` changes with all that is indexed of them, but for the names of entities.

    Args:
        data: of the group.
        sessions: the session that each episode names, by its uuid; one that names none is missing.
    """
    facts: dict[str, list[Fact]] = {}
    for fact in data.facts:
        for episode in fact.turns:
            facts.setdefault(episode, []).append(fact)
    entities: dict[str, set[str]] = {}
    for mention in data.mentions:
        entities.setdefault(mention.episode, set()).add(mention.entity)
    return [
        _indexed(
            episode,
            sessions.get(episode.uuid, SessionId("")),
            facts.get(episode.uuid, []),
            entities.get(episode.uuid, set()),
        )
        for episode in data.episodes
    ]


def _indexed(
    episode: UnrecordedEpisode, session: SessionId, facts: list[Fact], entities: set[str]
) -> CommittedTurn:
    text = episode_text(episode)
    stated = [
        f"{fact.uuid} {fact.text} {fact.relation} {fact.valid_at} {fact.invalid_at}"
        for fact in facts
    ]
    digest = ids.digest(text, session, str(episode.valid_at), *stated, "", *sorted(entities))
    ends = {end for fact in facts for end in (fact.source, fact.target)}
    return CommittedTurn(
        receipt=_receipt(episode, session, digest),
        sequence=0,
        text=text,
        entities=tuple(sorted(entities | ends)),
        facts=tuple(fact.uuid for fact in facts),
    )


def _receipt(episode: UnrecordedEpisode, session: SessionId, digest: str) -> Receipt:
    """Return what stands for a receipt: what an episode does not have is empty.

    `archive` is the name of the episode.
    """
    return Receipt(
        turn_id=TurnId(episode.uuid),
        group_id=episode.group_id,
        format="",
        session_id=session,
        ordinal=0,
        parent_session_id=None,
        agent_id=None,
        run_id="",
        content_hash=digest,
        text_hash="",
        chunks=1,
        extractor="",
        model=None,
        recipe="",
        committed_at=episode.created_at or UNKNOWN_TIME,
        started_at=episode.valid_at or episode.created_at or UNKNOWN_TIME,
        ended_at=None,
        cwd=None,
        git_branch=None,
        tools=(),
        archive=" ".join(episode.name.split()),
        first_line=0,
        last_line=0,
        usage=Usage(),
        entities_new=0,
        facts_new=0,
        facts_invalidated=0,
    )
