"""`turnetl search --json`."""

from datetime import datetime
from typing import Annotated

from turnetl.base.model import Usage
from turnetl.base.result_schema import Timestamp
from turnetl.base.results import JsonOutput, described
from turnetl.json_output import fields
from turnetl.json_output.base import timestamp
from turnetl.json_output.usage import UsageOutput, usage_output
from turnetl.retrieval.hits import HitFact, SearchHit, SessionHit
from turnetl.retrieval.session_hits import CombinedHits


class HitFactOutput(JsonOutput):
    """A further fact of a turn."""

    fact: Annotated[str, described("The fact.")]
    relation: Annotated[str, described("The fact's relation.")]
    valid_at: fields.ValidAtField
    invalid_at: fields.InvalidAtField


class SessionHitOutput(JsonOutput):
    """An episode of another program: it leads to a session at most, never to a turn or a line."""

    episode: Annotated[str, described("Uuid of the episode, a node of Graphiti's.")]
    name: Annotated[str, described("Name of the episode.")]
    group: fields.GroupField
    session_id: Annotated[
        str | None,
        described("The session that the episode names; null if it names none, or several."),
    ]
    reference_time: Annotated[
        Timestamp | None, described("The episode's reference time; null if it has none.")
    ]
    score: Annotated[float, described("As of a turn, and comparable with it.")]
    fact: Annotated[
        str,
        described(
            "The fact that matches best, else the best passage; empty if the turn above says it."
        ),
    ]
    relation: Annotated[str, described("The fact's relation, or `PASSAGE`.")]
    valid_at: fields.ValidAtField
    invalid_at: fields.InvalidAtField
    passage: Annotated[
        str, described("The passage that matches best; empty if a fact or the turn above says it.")
    ]
    more_facts: Annotated[
        list[HitFactOutput], described("Further facts that no turn states, best first.")
    ]


class HitOutput(JsonOutput):
    """A turn, and its fact that matches the query best."""

    id: fields.ShortTurnIdField
    prompt: fields.PromptField
    started_at: Annotated[Timestamp, described("Time of the turn.")]
    fact: Annotated[str, described("The fact; of a turn without one, its best passage.")]
    score: Annotated[
        float, described("How much of the query was found, from 0 to 1; 1 without a query.")
    ]
    relevance: Annotated[
        float | None,
        described(
            "With --rerank, how well the model says that the turn answers, from 0 to 1: the order "
            "of the hits. Null if it did not rate the turn."
        ),
    ]
    relation: Annotated[str, described("The fact's relation, or `PASSAGE`.")]
    valid_at: fields.ValidAtField
    invalid_at: fields.InvalidAtField
    group: fields.GroupField
    session_id: fields.SessionIdField
    turn_id: fields.TurnIdField
    archive: fields.ArchiveField
    first_line: fields.FirstLineField
    last_line: fields.LastLineField
    passage: Annotated[
        str,
        described(
            "The passage of the turn that matches best; empty if the prompt or a fact says it."
        ),
    ]
    more_facts: Annotated[list[HitFactOutput], described("Further facts of the turn, best first.")]
    files: fields.ChangedFilesField
    session_hits: Annotated[
        list[SessionHitOutput],
        described(
            "Session-level episodes about the session of the turn, under the best turn of it."
        ),
    ]


class SearchOutput(JsonOutput):
    """The hits of a search."""

    hits: Annotated[
        list[HitOutput],
        described("The hits, one per turn: best first, or newest first without a query."),
    ]
    session_hits: Annotated[
        list[SessionHitOutput],
        described(
            "Session-level episodes of whose sessions no turn is a hit, in the same order. They "
            "count for --limit; the scores tell where they are among the hits."
        ),
    ]
    as_of: Annotated[
        Timestamp | None,
        described(
            "The end of --as-of: the facts held then, and a later `invalid_at` was not known "
            "yet; null without that option."
        ),
    ]
    distant: Annotated[
        int,
        described("Turns that were left out because nothing is close; --nearest prints them."),
    ]
    caught_up_at: fields.CaughtUpAtField
    unread: fields.UnreadField
    usage: Annotated[
        UsageOutput,
        described(
            "Usage of the model that reranked, without responses from the journal; zero without "
            "--rerank."
        ),
    ]


def search_output(
    found: CombinedHits,
    *,
    as_of: datetime | None,
    caught_up_at: datetime | None,
    unread: str | None,
    usage: Usage,
) -> SearchOutput:
    return SearchOutput(
        hits=[hit_output(hit) for hit in found.hits],
        session_hits=[_session_hit(hit) for hit in found.session_hits],
        as_of=timestamp(as_of),
        distant=found.distant,
        caught_up_at=timestamp(caught_up_at),
        unread=unread,
        usage=usage_output(usage),
    )


def hit_output(hit: SearchHit) -> HitOutput:
    return HitOutput(
        id=hit.id,
        prompt=hit.prompt,
        started_at=timestamp(hit.started_at),
        fact=hit.fact,
        score=hit.score,
        relevance=hit.relevance,
        relation=hit.relation,
        valid_at=timestamp(hit.valid_at),
        invalid_at=timestamp(hit.invalid_at),
        group=hit.group_id,
        session_id=hit.session_id,
        turn_id=hit.turn_id,
        archive=hit.archive,
        first_line=hit.first_line,
        last_line=hit.last_line,
        passage=hit.passage,
        more_facts=[_fact(fact) for fact in hit.more_facts],
        files=list(hit.files),
        session_hits=[_session_hit(session) for session in hit.session_hits],
    )


def _session_hit(hit: SessionHit) -> SessionHitOutput:
    return SessionHitOutput(
        episode=hit.episode,
        name=hit.name,
        group=hit.group_id,
        session_id=hit.session_id,
        reference_time=timestamp(hit.reference_time),
        score=hit.score,
        fact=hit.fact,
        relation=hit.relation,
        valid_at=timestamp(hit.valid_at),
        invalid_at=timestamp(hit.invalid_at),
        passage=hit.passage,
        more_facts=[_fact(fact) for fact in hit.more_facts],
    )


def _fact(fact: HitFact) -> HitFactOutput:
    return HitFactOutput(
        fact=fact.fact,
        relation=fact.relation,
        valid_at=timestamp(fact.valid_at),
        invalid_at=timestamp(fact.invalid_at),
    )
