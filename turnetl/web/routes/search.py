"""The hits of a search."""

from dataclasses import dataclass
from datetime import datetime

from turnetl.retrieval.hits import PASSAGE, SearchHit, SessionHit, facts_beside_title
from turnetl.retrieval.match import Match
from turnetl.retrieval.search import CombinedHits
from turnetl.retrieval.snippets import Snippet
from turnetl.views.search_hits import match_message, no_hits_message, reversal
from turnetl.web import forms
from turnetl.web.forms import PageForm
from turnetl.web.routes.references import (
    LinkedFact,
    LinkedTurn,
    NamedLink,
    Paging,
    file_links,
    group_link,
    paging,
    turn_reference,
)

PAGE_SIZE = 20
MAX_PAGES = 25
"""A search ranks the turns of all pages up to the one that is shown."""


@dataclass(frozen=True, slots=True)
class EpisodeHit:
    """An episode of another program about a whole session."""

    name: str
    session: NamedLink | None
    """None: the episode names no session, or its turns are not in the graph."""
    group: NamedLink
    reference_time: datetime | None
    facts: tuple[LinkedFact, ...]


@dataclass(frozen=True, slots=True)
class TurnHit:
    item: LinkedTurn
    passage: str
    """Empty if the prompt or a fact says it."""
    snippet: Snippet
    format: str
    is_weak: bool
    end: str
    """Of a decision that no longer holds: when it ended, and what ended it."""
    episodes: tuple[EpisodeHit, ...]


@dataclass(frozen=True, slots=True)
class SearchPage:
    hits: tuple[TurnHit | EpisodeHit, ...]
    paging: Paging
    message: str
    """Why there are no hits, or what they lack of the query; may be empty."""


def search_limit(form: PageForm) -> int:
    """Return how many hits tell what a page shows, and whether there is another one."""
    return form.page * PAGE_SIZE + 1


def search_page(form: PageForm, found: CombinedHits) -> SearchPage:
    end = form.page * PAGE_SIZE
    results = found.results[end - PAGE_SIZE : end]
    more = len(found.results) > end and form.page < MAX_PAGES
    message = match_message(found)
    if not results and not form.is_empty:
        message = (
            no_hits_message(form.query, found) if form.page == 1 else "there are no further hits"
        )
    return SearchPage(
        hits=tuple(map(_hit, results)),
        paging=paging(forms.SEARCH, form, size=PAGE_SIZE, shown=len(results), more=more),
        message=message,
    )


def _hit(hit: SearchHit | SessionHit) -> TurnHit | EpisodeHit:
    if isinstance(hit, SessionHit):
        return _episode(hit)
    item = LinkedTurn(
        turn=turn_reference(hit, hit.intent),
        outcome=hit.outcome,
        group=group_link(hit.group_id),
        files=file_links(hit.files, hit.group_id),
        facts=_facts(hit),
    )
    return TurnHit(
        item=item,
        passage=hit.passage,
        snippet=hit.snippet,
        format=hit.format,
        is_weak=hit.match is Match.WEAK,
        end=reversal(hit, None),
        episodes=tuple(map(_episode, hit.session_hits)),
    )


def _episode(hit: SessionHit) -> EpisodeHit:
    session = hit.session_id
    return EpisodeHit(
        name=hit.name,
        session=NamedLink(session, forms.item_link(forms.SESSION, session)) if session else None,
        group=group_link(hit.group_id),
        reference_time=hit.reference_time,
        facts=_facts(hit),
    )


def _facts(hit: SearchHit | SessionHit) -> tuple[LinkedFact, ...]:
    """Return the facts of a hit; a passage in place of one is no fact."""
    return tuple(
        LinkedFact(
            text=fact.fact,
            relation="" if fact.relation == PASSAGE else fact.relation,
            valid_at=fact.valid_at,
            invalid_at=fact.invalid_at,
            href=None,
            ended_by=fact.ended_by,
            later_turn_says=fact.later_turn_says,
        )
        for fact in facts_beside_title(hit)
    )
