"""Run a search: from a query to hits, each with its best fact and its lineage.

It reads only the index, so hits do not depend on the graph store. It writes nothing. A time that
a query names, as in "what did we change last week", is a weight and not a filter; only expressions
that are unlikely to mean anything else are read: not `may` or `today`, and nothing in quotes.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import numpy as np

from turnetl.base.model import GroupId, SessionId
from turnetl.base.relations import DECIDED, EDITS, FAILED_WITH, FIXED_BY, SUPERSEDES
from turnetl.base.results import described
from turnetl.base.terms import content_words
from turnetl.base.time_span import (
    COMPOUND,
    DATED,
    DAY_OF_MONTH,
    ISO_DATE,
    MONTH,
    OFFSET,
    RELATIVE,
    WEEKDAY,
    CalendarUnit,
    TimeSpan,
    calendar_span,
    parse_time_span,
    shifted,
)
from turnetl.graph.session_level import UNKNOWN_TIME
from turnetl.index.conditions import Selection
from turnetl.index.persistent import PersistentIndex
from turnetl.index.port import IndexedFact
from turnetl.llm.embedders import Embedder
from turnetl.llm.embedders.static_model import StaticModel
from turnetl.retrieval.endings import Endings
from turnetl.retrieval.hits import (
    PASSAGE,
    HitFact,
    SearchHit,
    SessionHit,
    build_hits,
    held_facts,
    hit_facts,
)
from turnetl.retrieval.match import Match, TurnMatch, matcher, missing_from_all
from turnetl.retrieval.query import Query, Thesaurus, analyze, used_part
from turnetl.retrieval.ranking import (
    RERANKED,
    WEIGHTS,
    Evidence,
    RankedTurn,
    rank,
    sort_key,
    superseded_below,
)
from turnetl.retrieval.repetition import repeats_any
from turnetl.retrieval.snippets import ExcerptRanking, SnippetFinder
from turnetl.retrieval.turn_summary import titles

if TYPE_CHECKING:  # a search without a model does without it
    from turnetl.llm.chat import ChatModel


@dataclass(frozen=True, slots=True)
class Hits:
    """The result of a search."""

    hits: tuple[SearchHit, ...] = ()
    """Best first, one per turn."""
    distant: int = 0
    """Turns that were left out because nothing is close to the query."""
    missing_words: tuple[str, ...] = ()
    """Without hits: words of the query that no turn near it has."""
    is_list: bool = False
    """Whether these are all turns of a time or of the conditions, newest first: no turn is better
    than another one."""


class Order(StrEnum):
    """The order of hits."""

    SCORE = "score"
    """Best first."""
    TIME = "time"
    """Newest first: the same hits, in another order."""


async def search(
    index: PersistentIndex,
    query: str,
    embedder: Embedder,
    *,
    now: datetime | None = None,
    selection: Selection = Selection(),  # noqa: B008 - a frozen value
    order: Order = Order.SCORE,
    limit: int = 10,
    nearest: bool = False,
    weights: Mapping[Evidence, float] = WEIGHTS,
    thesaurus: Thesaurus = Thesaurus(),  # noqa: B008 - a frozen value
    model: "ChatModel | None" = None,
) -> Hits:
    """Return the turns that match the query, best first, one hit per turn; possibly none.

    Args:
        query: words, identifiers or a question. A quoted part must occur in a hit as it is. An
            empty query lists the selected turns, newest first; without a selection it has no hits.
        embedder: the one that the index was made with.
        now: the current time, in the zone of the times that the query names; None: such times are
            words like others.
        nearest: return hits even if none is close to the query.
        thesaurus: words that stand for each other.
        model: rates the best turns again; None: none does.
    """
    if limit < 1 or (selection.is_empty and not query.strip()):
        return Hits()
    ranking = _QueryRanking(index, embedder, StaticModel.open(), selection, weights, thesaurus)
    time, text = await ranking.find_time(query, now)
    if not query.strip() or (time and asks_for_all(text)):
        return _list_newest(index, _within(selection, time), limit)
    analyzed = await ranking.analyze(text)
    ranked = ranking.rank(analyzed, time)[: limit if model is None else max(limit, RERANKED)]
    facts = held_facts(index, ranked, selection.as_of)
    compared = matcher(analyzed, index)
    matches = {hit.turn.key: compared.match(hit, facts[hit.turn.key]) for hit in ranked}
    if not nearest and not any(match.is_close for match in matches.values()):
        return Hits(
            distant=len(ranked[:limit]), missing_words=compared.missing_from_all(matches.values())
        )
    shown = np.array(sorted(hit.turn.key for hit in ranked), dtype=np.int64)
    excerpts = ExcerptRanking(analyzed, ranking.static_model, index.passage_tokens(shown))
    if model is not None:
        from turnetl.retrieval.reranking import rerank  # noqa: PLC0415 - imports graphiti

        ranked = await rerank(query, ranked, facts, excerpts, model)
    best = ranked[:limit]
    if order is Order.TIME:
        best.sort(key=lambda hit: hit.turn.receipt.started_at, reverse=True)
    elif selection.as_of is None:
        of_turns = [
            [one for one in facts[hit.turn.key] if one.fact.relation != SUPERSEDES] for hit in best
        ]
        matching = zip(best, excerpts.best_facts(of_turns), strict=True)
        first = {hit.turn.key: found[0].fact for hit, found in matching if found}
        best = superseded_below(best, facts, first)
    snippets = SnippetFinder(analyzed, excerpts)
    return Hits(_built(index, selection, best, facts, excerpts, snippets=snippets, matches=matches))


async def rank_all(
    index: PersistentIndex,
    query: str,
    embedder: Embedder,
    *,
    now: datetime | None = None,
    selection: Selection = Selection(),  # noqa: B008 - a frozen value
    weights: Mapping[Evidence, float] = WEIGHTS,
    thesaurus: Thesaurus = Thesaurus(),  # noqa: B008 - a frozen value
) -> list[RankedTurn]:
    """Return all turns that `search` ranks for a query, each with its evidence, best first."""
    ranking = _QueryRanking(index, embedder, StaticModel.open(), selection, weights, thesaurus)
    time, text = await ranking.find_time(query, now)
    return ranking.rank(await ranking.analyze(text), time)


@dataclass(frozen=True, slots=True)
class _QueryRanking:
    """Ranks the selected turns for texts."""

    index: PersistentIndex
    embedder: Embedder
    static_model: StaticModel
    selection: Selection
    weights: Mapping[Evidence, float]
    thesaurus: Thesaurus

    async def find_time(self, query: str, now: datetime | None) -> tuple[TimeSpan | None, str]:
        """Return the time that a query names, by a date or by what happened, and the rest."""
        if now is None:
            return None, query
        time, text = find_time(used_part(query), now)
        found = _EVENT.search(text) if time is None and not _QUOTED.search(text) else None
        if found and (day := await self._day(found[2])):
            rest = text[: found.start()] + text[found.end() :]
            return shifted(
                found[1], calendar_span(CalendarUnit.DAY, day.astimezone(now.tzinfo)), now
            ), rest
        return time, text

    async def analyze(self, text: str) -> Query:
        chosen = self.index.search_embedder
        return await analyze(text, self.embedder, self.static_model, self.thesaurus, chosen)

    def rank(self, query: Query, time: TimeSpan | None) -> list[RankedTurn]:
        ranked = self._ranked(query, self.selection)
        if time is None:
            return ranked
        return weigh_by_time(ranked, self._ranked(query, _within(self.selection, time)))

    def _ranked(self, query: Query, selection: Selection) -> list[RankedTurn]:
        keys = None if selection.is_empty else self.index.select(selection)
        return rank(query, self.index, self.static_model, keys, self.weights)

    async def _day(self, event: str) -> datetime | None:
        """Return when the turn began that matches what happened; None if none does strongly."""
        query = await self.analyze(event)
        best = self.rank(query, None)[:1]
        facts = held_facts(self.index, best, self.selection.as_of)
        compared = matcher(query, self.index)
        matches = [compared.match(hit, facts[hit.turn.key]) for hit in best]
        is_found = any(one.is_close and one.match is Match.STRONG for one in matches)
        return best[0].turn.started_at if is_found else None


def _list_newest(index: PersistentIndex, selection: Selection, limit: int) -> Hits:
    keys = index.newest(selection, limit=limit)
    turns = index.turns(keys)
    listed = [RankedTurn(turns[key], 1.0, {}) for key in keys]
    facts = held_facts(index, listed, selection.as_of)
    return Hits(_built(index, selection, listed, facts), is_list=True)


def _built(
    index: PersistentIndex,
    selection: Selection,
    ranked: Sequence[RankedTurn],
    facts: Mapping[int, Sequence[IndexedFact]],
    excerpts: ExcerptRanking | None = None,
    *,
    snippets: SnippetFinder | None = None,
    matches: Mapping[int, TurnMatch] | None = None,
) -> tuple[SearchHit, ...]:
    selected = _selected_facts(index, selection, ranked)
    named = titles(index, (hit.turn for hit in ranked))
    endings = Endings(index) if selection.as_of is None else None
    return build_hits(
        ranked,
        facts,
        named,
        selected,
        excerpts,
        snippets=snippets,
        endings=endings,
        matches=matches,
    )


def _selected_facts(
    index: PersistentIndex, selection: Selection, ranked: Sequence[RankedTurn]
) -> Collection[str]:
    if not selection.selects_facts:
        return ()
    return index.selected_facts(selection, [hit.turn.key for hit in ranked])


def _within(selection: Selection, time: TimeSpan | None) -> Selection:
    if time is None:
        return selection
    return replace(
        selection,
        since=max(time.start, selection.since or time.start),
        until=min(time.end, selection.until or time.end),
    )


OUTSIDE = 0.7
"""What a turn outside of the time that the query names keeps of its score."""

_PREPOSITION = "since|after|before|until"
_BEFORE_MONTH = "|".join(rf"(?<=\b{word} )" for word in ("in", "during", *_PREPOSITION.split("|")))
_BEFORE_DAY = "|".join(rf"(?<=\b{word} )" for word in ("on", *_PREPOSITION.split("|")))
_EXPRESSION = (
    rf"(?:\b(?P<preposition>{_PREPOSITION}) )?(?<![\w./:-])"
    rf"(?P<time>{COMPOUND}|(?!today)(?:{RELATIVE})|{DATED}"
    # Without a year, the last one is meant. `may` and `march` are verbs but after a preposition,
    # and `may` in lower case is one there too.
    rf"|(?:{_BEFORE_MONTH})(?!(?-i:may)){MONTH}|(?<=\bon ){DAY_OF_MONTH}"
    rf"|(?:{_BEFORE_DAY}){WEEKDAY})"
    r"(?![\w/:-]|\.\w)"
)
_EVENT = re.compile(rf"(?:\b(?:in|on|during) )?\b({OFFSET}) ([^,;?]+)", re.IGNORECASE)
"""A time by what happened: `the week after the release`."""
_PART = re.compile(
    r"[0-9]{4}|yesterday|ago|last|past|this"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)",
    re.IGNORECASE,
)
"""What every expression contains. Few queries do, and compiling `_EXPRESSION` takes 5 ms."""
_GENERAL_WORDS = """
change changed changes doing done happen happened happening made make work worked working all
anything everything between during since until before after
"""
_ASKS_FOR_ALL = frozenset(_GENERAL_WORDS.split())
"""Words of a question about all that was done, beside stop words."""
_AGO = re.compile(r".* (second|minute|hour|day|week|month|year)s? ago", re.IGNORECASE)
_QUOTED = re.compile(r'"[^"\n]*"')
_SPACES = re.compile(r"[^\S\n]+")
_FIRST = datetime(1, 1, 1, tzinfo=UTC)


def find_time(text: str, now: datetime) -> tuple[TimeSpan | None, str]:
    """Return the time that a query names, if any, and the query without it.

    Several expressions name the time from the first to the last. An ISO date stays in the query
    too: the texts of turns contain such dates.
    """
    text = _SPACES.sub(" ", text)
    if not _PART.search(text):
        return None, text
    spans, kept, end = [], [], 0
    quoted = [match.span() for match in _QUOTED.finditer(text)]
    for match in re.finditer(_EXPRESSION, text, re.IGNORECASE):
        if any(start < match.end() and match.start() < stop for start, stop in quoted):
            continue
        span = _span(match["time"], match["preposition"], now)
        if span is None:
            continue
        spans.append(span)
        if not re.fullmatch(ISO_DATE, match["time"]):
            kept.append(text[end : match.start()])
            end = match.end()
    if not spans:
        return None, text
    whole = TimeSpan(min(span.start for span in spans), max(span.end for span in spans))
    return whole, " ".join((*kept, text[end:]))


def asks_for_all(text: str) -> bool:
    """Return whether a query that names a time asks for all that was done then."""
    words = content_words(re.sub(_EXPRESSION, " ", text, flags=re.IGNORECASE)).lower().split()
    return not _QUOTED.search(text) and _ASKS_FOR_ALL.issuperset(words)


def weigh_by_time(
    ranked: Sequence[RankedTurn], within: Sequence[RankedTurn], outside: float = OUTSIDE
) -> list[RankedTurn]:
    """Return the turns, best first; those that are not `within` keep a share of their score."""
    found = {turn.turn.key: turn for turn in within}
    others = [
        replace(turn, score=outside * turn.score) for turn in ranked if turn.turn.key not in found
    ]
    return sorted((*within, *others), key=sort_key)


def _span(expression: str, preposition: str | None, now: datetime) -> TimeSpan | None:
    span = parse_time_span(expression, now)
    if span is None:
        return None
    if ago := _AGO.fullmatch(expression):
        span = calendar_span(_unit(ago[1].lower()), span.start.astimezone(now.tzinfo))
    present = max(now.astimezone(UTC), span.end)
    match (preposition or "").lower():
        case "since":
            return TimeSpan(span.start, present)
        case "after":
            return TimeSpan(span.end, present)
        case "before":
            return TimeSpan(_FIRST, span.start)
        case "until":
            return TimeSpan(_FIRST, span.end)
        case _:
            return span


def _unit(word: str) -> CalendarUnit:
    try:
        return CalendarUnit(word)
    except ValueError:  # an hour, a minute
        return CalendarUnit.DAY


@dataclass(frozen=True, slots=True)
class CombinedHits:
    """The result of a search over turns and session-level data."""

    results: tuple[SearchHit | SessionHit, ...]
    """Best first, or newest first: turns, each with the episodes of its session, and the episodes
    of which no turn is a hit."""
    distant: Annotated[
        int,
        described("Turns that were left out because nothing is close; --nearest prints them."),
    ]
    """With episodes."""
    absent_words: tuple[str, ...] = ()

    @property
    @described(
        "Words of the query that no hit has, in their order; without hits, those that the nearest "
        "turns lack. Words that name no subject do not count."
    )
    def missing_words(self) -> tuple[str, ...]:
        shown = missing_from_all(hit.missing_words for hit in self.results)
        return shown if self.results else self.absent_words

    @property
    @described("The hits, one per turn: best first, or newest first without a query.")
    def hits(self) -> tuple[SearchHit, ...]:
        return tuple(hit for hit in self.results if isinstance(hit, SearchHit))

    @property
    @described(
        "Session-level episodes of whose sessions no turn is a hit, in the same order. They "
        "count for --limit; the scores tell where they are among the hits."
    )
    def session_hits(self) -> tuple[SessionHit, ...]:
        return tuple(hit for hit in self.results if isinstance(hit, SessionHit))


def combine_hits(turns: Hits, sessions: Hits, *, order: Order, limit: int) -> CombinedHits:
    """Return the hits of turns and of session-level episodes, each fact once.

    An episode is put under the best turn of the session that it names, without the facts that turns
    of this session say in their hits, and is not counted; else it is a hit of its own.
    """
    best: dict[SessionId, SearchHit] = {}
    for hit in turns.hits:
        best.setdefault(hit.session_id, hit)
    under: dict[str, list[SessionHit]] = {}
    alone: list[SessionHit] = []
    for found in map(_session_hit, sessions.hits):
        turn = best.get(found.session_id) if found.session_id else None
        if turn is None:
            alone.append(found)
        else:
            of_session = [hit for hit in turns.hits if hit.session_id == turn.session_id]
            under.setdefault(turn.turn_id, []).append(_without_repeated(found, of_session))
    merged: list[SearchHit | SessionHit] = [
        replace(hit, session_hits=tuple(under.get(hit.turn_id, ()))) for hit in turns.hits
    ]
    merged += alone
    if order is Order.TIME or turns.is_list or sessions.is_list:
        merged.sort(key=_newest_first)
    elif all(hit.relevance is None for hit in turns.hits):
        merged.sort(key=lambda hit: -hit.score)
    searched = [found for found in (turns, sessions) if found.hits or found.distant] or [turns]
    absent = missing_from_all(found.missing_words for found in searched)
    distant = turns.distant + sessions.distant if not merged else 0
    return CombinedHits(tuple(merged[:limit]), distant, absent)


def _newest_first(hit: SearchHit | SessionHit) -> float:
    time = hit.started_at if isinstance(hit, SearchHit) else hit.reference_time
    return -(time or UNKNOWN_TIME).timestamp()


def _session_hit(hit: SearchHit) -> SessionHit:
    """Return a hit of the index of session-level episodes, as `session_index` fills it."""
    return SessionHit(
        episode=hit.turn_id,
        name=hit.archive,
        group_id=GroupId(hit.group_id),
        session_id=hit.session_id or None,
        reference_time=None if hit.started_at == UNKNOWN_TIME else hit.started_at,
        score=hit.score,
        fact=hit.fact,
        relation=hit.relation,
        valid_at=_known(hit.valid_at),
        invalid_at=hit.invalid_at,
        passage=hit.passage,
        more_facts=hit.more_facts,
        match=hit.match,
        missing_words=hit.missing_words,
    )


def _without_repeated(hit: SessionHit, turns: Iterable[SearchHit]) -> SessionHit:
    shown = [text for turn in turns for text in _shown(turn)]
    facts = [fact for fact in hit_facts(hit) if not repeats_any(fact.fact, shown)]
    passage = "" if repeats_any(hit.passage, shown) else hit.passage
    best = facts[0] if facts else HitFact("", PASSAGE, hit.reference_time, None)
    return replace(
        hit,
        fact=best.fact,
        relation=best.relation,
        valid_at=best.valid_at,
        invalid_at=best.invalid_at,
        passage=passage,
        more_facts=tuple(facts[1:]),
    )


def _shown(turn: SearchHit) -> list[str]:
    return [turn.prompt, turn.fact, turn.passage, *(more.fact for more in turn.more_facts)]


def _known(time: datetime | None) -> datetime | None:
    return None if time == UNKNOWN_TIME else time


_CHOICE = re.compile(
    r"(?:(?:I|we) (?:decided|chose|picked|went)(?: on| for| with| to)? "
    r"|(?=(?:use|keep|store|drop|replace|switch|move|disable|enable|remove|rename|split|pin)\b))"
    r"(?P<what>[^,;:(…]{8,})",
    re.IGNORECASE,
)
_LONGEST = 54
_UNSAFE = set('"`$\\!…\n')
"""Characters that a shell interprets between double quotes, and the mark of a cut name."""
_SAMPLED_TURNS, _TRIED = 60, 5
"""Turns whose names make queries, and queries of a kind that are tried."""


def _decision_query(decision: str) -> str:
    """Return `why X rather than Y` for `I decided on X rather than Y, because ...`."""
    choice = _CHOICE.match(decision)
    if choice is None:
        return ""
    what = choice["what"].strip()
    return f"why {what}" if choice.start("what") else f"why did we {what[:1].lower()}{what[1:]}"


_QUERIES: Sequence[tuple[str, Collection[str], Callable[[str], str]]] = (
    ("Decision", {DECIDED}, _decision_query),
    ("Error", {FIXED_BY}, "what did we do when {}".format),
    ("Error", {FAILED_WITH}, "what did we do when {}".format),
    ("File", EDITS, "what changed in {} and why".format),
)
"""By label and relations of a fact: a query about the entity."""


async def sample_queries(
    index: PersistentIndex,
    embedder: Embedder,
    thesaurus: Thesaurus = Thesaurus(),  # noqa: B008
) -> Sequence[str]:
    """Return a query about a decision, an error and a file, each with a strong match in the index.

    The best hit has all of its words. They are from the newest turns, and may be fewer or none.
    """
    found: dict[str, str] = {}
    for label, relations, phrase in _QUERIES:
        if label not in found:
            for query in _queries(index, label, relations, phrase)[:_TRIED]:
                hits = (await search(index, query, embedder, limit=1, thesaurus=thesaurus)).hits
                if hits and hits[0].match is Match.STRONG and not hits[0].missing_words:
                    found[label] = query
                    break
    return [*found.values()]


def _queries(
    index: PersistentIndex, label: str, relations: Collection[str], phrase: Callable[[str], str]
) -> Sequence[str]:
    """Return queries about the entities with that label, those with the most facts first."""
    facts = index.facts(index.newest(Selection(label=label), limit=_SAMPLED_TURNS))
    counts = Counter(
        end.name
        for stated in facts.values()
        for indexed in stated
        if indexed.fact.relation in relations
        for end in (indexed.source, indexed.target)
        if label in end.labels
    )
    queries = (phrase(name) for name, _ in counts.most_common())
    return [one for one in queries if one and len(one) <= _LONGEST and not set(one) & _UNSAFE]
