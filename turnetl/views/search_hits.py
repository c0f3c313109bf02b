"""The hits of a search."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from turnetl.base.model import Usage
from turnetl.base.relations import DECISIONS
from turnetl.base.text import format_minute, listed, one_line
from turnetl.retrieval.hits import HitFact, SearchHit, SessionHit, facts_beside_title, hit_facts
from turnetl.retrieval.match import Match
from turnetl.retrieval.query import quoted_parts
from turnetl.retrieval.search import CombinedHits
from turnetl.views import costs
from turnetl.views.nodes import HangingIndent, Line, LineRange, Lines, Node, View, line, unwrapped
from turnetl.views.turns import NO_PROMPT, fact_end, files_line, outcome_line

NO_HITS = (
    "no hits; try other words or fewer options, or `turnetl status` to see what the graph holds"
)
_NO_SELECTED = (
    "no turn meets all filters; omit one of them, or `turnetl status` to see what the graph holds"
)
_NO_QUOTED = (
    "no hits: every hit must contain the quoted {} {} as it is; without the quotes, the search "
    "looks for the words"
)
_MAX_QUOTED = 3
_MARK = "session level"
_SNIPPET_LINES = 2
_NOTHING_CLOSE = "nothing close to the query{}; --nearest prints the nearest turns"
_NEAREST_LACK = "the nearest turns do not contain {}"
_NO_HIT_CONTAINS = "no hit contains {}"
_ONLY_WEAK = "weak matches only"
_MAX_WORDS, _MAX_WORD_CHARS = 6, 40


def view(
    hits: Sequence[SearchHit | SessionHit],
    no_hits: str,
    as_of: datetime | None = None,
    *,
    is_verbose: bool = False,
) -> View:
    """Return each hit: what its turn was about, what answers, its time, project, agent and id.

    If `is_verbose`, also its place, score, outcome, facts and files. Session-level episodes are
    below a turn of their session, or marked as what they are.
    """
    if not hits:
        return [no_hits]
    lines: list[Node] = []
    for rank, hit in enumerate(hits, 1):
        if isinstance(hit, SearchHit):
            lines += _hit(rank, hit, as_of, is_verbose=is_verbose)
        else:
            lines += _session_hit(rank, hit, as_of)
    return lines


def results_view(
    query: str, found: CombinedHits, as_of: datetime | None, *, is_verbose: bool
) -> View:
    """Return the hits of a query below what they lack of it."""
    message = match_message(found)
    hits = view(found.results, no_hits_message(query, found), as_of, is_verbose=is_verbose)
    return [line((message, "yellow")), *hits] if message else hits


def match_message(found: CombinedHits) -> str:
    """Return what the hits lack of the query, and whether all are weak; may be empty."""
    hits = found.results
    is_weak = bool(hits) and all(hit.match is Match.WEAK for hit in hits)
    missing = found.missing_words if hits else ()
    said = [_ONLY_WEAK] if is_weak else []
    return "; ".join([*said, *([_NO_HIT_CONTAINS.format(_words(missing))] if missing else [])])


def nearest_lack(found: CombinedHits) -> str:
    """Return what the nearest turns lack of a query that nothing is close to; may be empty."""
    lacks = found.distant and found.missing_words
    return _NEAREST_LACK.format(_words(found.missing_words)) if lacks else ""


def _words(words: Sequence[str]) -> str:
    return listed([f"`{one_line(word, _MAX_WORD_CHARS)}`" for word in words], _MAX_WORDS)


def no_hits_message(query: str, found: CombinedHits) -> str:
    """Return why there are no hits; of a query that nothing is close to, some turns are distant."""
    if found.distant:
        lack = nearest_lack(found)
        return _NOTHING_CLOSE.format(f": {lack}" if lack else "")
    if not query.strip():
        return _NO_SELECTED
    quoted = quoted_parts(query)
    if not quoted:
        missing = found.missing_words
        return f"no turn contains {_words(missing)}; {NO_HITS}" if missing else NO_HITS
    parts = listed([f"`{part}`" for part in quoted], _MAX_QUOTED)
    return _NO_QUOTED.format("text" if len(quoted) == 1 else "texts", parts)


def usage_messages(usage: Usage) -> list[str]:
    return [f"the model ranked the results: {costs.used(usage)}"] if usage.calls else []


def ranked(rank: int, text: Line) -> HangingIndent:
    return HangingIndent(line((f"{rank:>2}. ", "bold")), text)


def _hit(rank: int, hit: SearchHit, as_of: datetime | None, *, is_verbose: bool) -> View:
    title = line(hit.intent or hit.prompt or NO_PROMPT)
    if is_verbose:
        brief = [replace(one, max_lines=None) for one in _brief(hit, as_of)]
        return [ranked(rank, title), Lines(brief, indent=4), *_rest(hit, as_of), ""]
    brief = [replace(one, max_lines=one.max_lines or 1) for one in _brief(hit, as_of)]
    sessions = [_session_line(session) for session in hit.session_hits]
    return [ranked(rank, replace(title, max_lines=1)), Lines(brief, indent=4), *sessions]


def _brief(hit: SearchHit, as_of: datetime | None) -> Iterator[Line]:
    """Yield what answers, with the words of the query, then its id, time, project and agent."""
    end = reversal(hit, as_of)
    if hit.snippet.text:
        styled = ((text, "bold" if is_match else "") for text, is_match in hit.snippet.parts())
        yield Line(tuple(styled), max_lines=_SNIPPET_LINES - bool(end))
    if end:
        yield Line(((end, "yellow"),), max_lines=1)
    yield line(
        hit.id,
        (" · weak match" if hit.match is Match.WEAK else "", "yellow"),
        (f" · {format_minute(hit.started_at)}", "cyan"),
        (f" · {hit.group_id} · {hit.format}", "dim"),
    )


def reversal(hit: SearchHit, as_of: datetime | None) -> str:
    """Return what ended a decision of a hit, or the fact it shows, and when; empty if all hold."""
    told = (one for one in hit_facts(hit) if _is_told(one, hit))
    return next((fact_end(one, as_of) for one in told if one.invalid_at is not None), "")


def _is_told(fact: HitFact, hit: SearchHit) -> bool:
    return fact.relation in DECISIONS or fact.fact == hit.snippet.text


def _rest(hit: SearchHit, as_of: datetime | None) -> View:
    """Return what a hit has beside its title and its snippet."""
    relevance = f"  relevance {hit.relevance:.2f}" if hit.relevance is not None else ""
    place = LineRange(hit.archive, hit.first_line, hit.last_line)
    facts = [_fact(one, as_of) for one in facts_beside_title(hit)]
    lines: list[Node] = [
        unwrapped("    ", place, (f"  score {hit.score:.2f}{relevance}", "dim")),
        Lines(outcome_line(hit.outcome), indent=4),
        Lines([HangingIndent(line("· "), fact) for fact in facts], indent=4),
        Lines(files_line(hit.files), indent=4),
    ]
    for session in hit.session_hits:
        lines += [_session_line(session), _session_facts(session, as_of)]
    return lines


def _session_hit(rank: int, hit: SessionHit, as_of: datetime | None) -> View:
    title = ranked(rank, line(hit.name or hit.fact))
    return [title, _session_line(hit), _session_facts(hit, as_of), ""]


def _session_line(hit: SessionHit) -> Line:
    """Return what an episode leads to: a session, if it names one, and never a line."""
    session = f"session {hit.session_id}" if hit.session_id else "no session named"
    time = f"{format_minute(hit.reference_time)}  " if hit.reference_time is not None else ""
    return unwrapped(
        "    ",
        (_MARK, "yellow"),
        f"  {session}  ",
        (time, "cyan"),
        f"{hit.group_id}  ",
        (f"episode {hit.episode}", "dim"),
    )


def _session_facts(hit: SessionHit, as_of: datetime | None) -> Lines:
    facts = (_fact(one, as_of) for one in facts_beside_title(hit))
    return Lines([HangingIndent(line("· "), fact) for fact in facts], indent=4)


def _fact(fact: HitFact, as_of: datetime | None) -> Line:
    """Return the text of a fact, with what ended it."""
    said = fact_end(fact, as_of)
    return line(fact.fact, (f"  ({said})" if said else "", "dim"))
