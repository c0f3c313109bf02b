"""Hits: turns with the facts and the passage that match best, and where they are in archives."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated

from turnetl.base.model import ID_CHARS, Fact, GroupId, SessionId
from turnetl.base.relations import DECISIONS
from turnetl.base.result_fields import (
    ArchiveField,
    ChangedFilesField,
    EndedByField,
    FirstLineField,
    IntentField,
    InvalidAtField,
    LastLineField,
    LaterTurnField,
    OutcomeField,
    PromptField,
    ShortTurnIdField,
    TurnIdField,
    ValidAtField,
)
from turnetl.base.results import described
from turnetl.base.text import one_line
from turnetl.episode_text.passages import first_passage, prompt_title
from turnetl.index.persistent import PersistentIndex
from turnetl.index.port import IndexedFact
from turnetl.retrieval.endings import Endings
from turnetl.retrieval.match import Match, TurnMatch
from turnetl.retrieval.ranking import RankedTurn
from turnetl.retrieval.repetition import distinct_facts, repeats_any, repeats_title, shown_text
from turnetl.retrieval.snippets import (
    NO_SNIPPET,
    ExcerptRanking,
    Snippet,
    SnippetFinder,
    TitledTurn,
)
from turnetl.retrieval.turn_summary import TurnTitle, changed_files

MatchField = Annotated[
    Match,
    described("`weak`: the text lacks words of the query and scores low; it may not be about it."),
]
MissingWordsField = Annotated[
    tuple[str, ...], described("Words of the query that the text lacks, in their order.")
]

_MORE_FACTS = 4

PASSAGE = "PASSAGE"
"""The relation of a hit whose turn has no fact: its best passage is shown in place of one."""


@dataclass(frozen=True, slots=True)
class HitFact:
    """A further fact of a turn."""

    fact: Annotated[str, described("The fact.")]
    relation: Annotated[str, described("The fact's relation.")]
    valid_at: ValidAtField
    invalid_at: InvalidAtField
    ended_by: EndedByField = ""
    later_turn_says: LaterTurnField = ""


@dataclass(frozen=True, slots=True)
class SessionHit:
    """An episode of another program: it leads to a session at most, never to a turn or a line."""

    episode: Annotated[str, described("Uuid of the episode, a node of Graphiti's.")]
    name: Annotated[str, described("Name of the episode.")]
    group_id: Annotated[GroupId, described("Id of the group.", name="group")]
    session_id: Annotated[
        SessionId | None,
        described("The session that the episode names; null if it names none, or several."),
    ]
    reference_time: Annotated[
        datetime | None, described("The episode's reference time; null if it has none.")
    ]
    score: Annotated[float, described("As of a turn, and comparable with it.")]
    fact: Annotated[
        str,
        described(
            "The fact that matches best, else the best passage; empty if the turn above says it."
        ),
    ]
    """No turn states it."""
    relation: Annotated[str, described("The fact's relation, or `PASSAGE`.")]
    valid_at: ValidAtField
    """As the program dated it: possibly the time of its run."""
    invalid_at: InvalidAtField
    passage: Annotated[
        str, described("The passage that matches best; empty if a fact or the turn above says it.")
    ]
    more_facts: Annotated[
        tuple[HitFact, ...], described("Further facts that no turn states, best first.")
    ]
    match: MatchField = Match.STRONG
    missing_words: MissingWordsField = ()


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A turn, and its fact that matches the query best."""

    id: ShortTurnIdField
    prompt: PromptField
    intent: IntentField
    outcome: OutcomeField
    started_at: Annotated[datetime, described("Time of the turn.")]
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
    valid_at: ValidAtField
    invalid_at: InvalidAtField
    group_id: Annotated[GroupId, described("Id of the group.", name="group")]
    session_id: Annotated[SessionId, described("Id of the session.")]
    turn_id: TurnIdField
    archive: ArchiveField
    first_line: FirstLineField
    last_line: LastLineField
    passage: Annotated[
        str,
        described(
            "The passage of the turn that matches best; empty if the prompt or a fact says it."
        ),
    ]
    more_facts: Annotated[tuple[HitFact, ...], described("Further facts of the turn, best first.")]
    files: ChangedFilesField
    session_hits: Annotated[
        tuple[SessionHit, ...],
        described(
            "Session-level episodes about the session of the turn, under the best turn of it."
        ),
    ] = ()
    ended_by: EndedByField = ""
    later_turn_says: LaterTurnField = ""
    match: MatchField = Match.STRONG
    missing_words: MissingWordsField = ()
    format: Annotated[str, described("Format of the archive: the agent that wrote it.")] = ""
    snippet: Annotated[Snippet, described("What of the turn answers the query best.")] = NO_SNIPPET


def held(fact: Fact, as_of: datetime | None) -> bool:
    """Return whether a fact held immediately before that time; None: whether or not it did."""
    if as_of is None:
        return True
    begun = fact.valid_at is None or fact.valid_at < as_of
    return begun and (fact.invalid_at is None or fact.invalid_at >= as_of)


def hit_facts(hit: SearchHit | SessionHit) -> list[HitFact]:
    """Return the facts of a hit, best first; a passage in place of one is among them."""
    first = HitFact(hit.fact, hit.relation, hit.valid_at, hit.invalid_at)
    if isinstance(hit, SearchHit):
        first = replace(first, ended_by=hit.ended_by, later_turn_says=hit.later_turn_says)
    return [first, *hit.more_facts]


def facts_beside_title(hit: SearchHit | SessionHit) -> list[HitFact]:
    """Return the facts of a hit without those that only repeat its prompt or its episode's name."""
    title = hit.name if isinstance(hit, SessionHit) else hit.prompt
    return [fact for fact in hit_facts(hit) if fact.fact not in ("", title)]


def held_facts(
    index: PersistentIndex, ranked: Sequence[RankedTurn], as_of: datetime | None
) -> dict[int, Sequence[IndexedFact]]:
    """Return the facts of each turn, by its key: those that held immediately before that time."""
    facts = index.facts([hit.turn.key for hit in ranked])
    return {
        key: [indexed for indexed in of_turn if held(indexed.fact, as_of)]
        for key, of_turn in facts.items()
    }


def build_hits(
    ranked: Sequence[RankedTurn],
    facts: Mapping[int, Sequence[IndexedFact]],
    named: Mapping[int, TurnTitle],
    selected: Collection[str] = (),
    excerpts: ExcerptRanking | None = None,
    *,
    snippets: SnippetFinder | None = None,
    endings: Endings | None = None,
    matches: Mapping[int, TurnMatch] | None = None,
) -> tuple[SearchHit, ...]:
    """Return the hits for these turns, in their order.

    No fact of a hit repeats its prompt or another fact, and no passage repeats either of them; but
    the facts with the selected uuids come first, whatever they repeat, and decisions that ended are
    kept. Without `excerpts`, facts are in the order of the turn. With `endings`, those that hold
    come before the others, which say what ended them.
    """
    prompts = [one_line(prompt_title(hit.turn.text)) for hit in ranked]
    shown = [
        _shown_facts(facts[hit.turn.key], prompt, selected)
        for hit, prompt in zip(ranked, prompts, strict=True)
    ]
    ordered = excerpts.best_facts(shown) if excerpts else shown
    best_facts = [_best_facts(of_turn, selected, endings) for of_turn in ordered]
    hits = []
    for hit, prompt, best in zip(ranked, prompts, best_facts, strict=True):
        passage = excerpts.best_passage(hit.turn) if excerpts else first_passage(hit.turn.text)
        changed = changed_files(facts[hit.turn.key])
        built = _hit(
            hit, prompt, named[hit.turn.key], best, passage=one_line(passage), files=changed
        )
        if matches is not None:
            found = matches[hit.turn.key]
            built = replace(built, match=found.match, missing_words=found.missing_words)
        hits.append(built)
    if snippets is None:
        shown_texts = [_listed(*one, selected) for one in zip(hits, best_facts, strict=True)]
    else:
        titled = [
            TitledTurn(one.turn, best, hit.intent or hit.prompt, hit.outcome)
            for one, hit, best in zip(ranked, hits, best_facts, strict=True)
        ]
        shown_texts = snippets.snippets(titled)
    answered = zip(hits, shown_texts, strict=True)
    return tuple(replace(hit, snippet=snippet) for hit, snippet in answered)


def _best_facts(
    of_turn: Sequence[IndexedFact], selected: Collection[str], endings: Endings | None
) -> list[Fact]:
    """Return the facts that a hit shows: the selected ones first, and those that hold."""
    stated = [one.fact for one in of_turn]
    stated.sort(key=lambda fact: fact.uuid not in selected)
    kept = {*selected, *(fact.uuid for fact in stated if _is_ended_decision(fact))}
    best = distinct_facts(stated, 1 + _MORE_FACTS, kept)
    if endings is not None:
        best = [*map(endings.marked_fact, best)]
        best.sort(key=lambda one: (one.uuid not in selected, one.invalid_at is not None))
    return best


def _listed(hit: SearchHit, facts: Sequence[Fact], selected: Collection[str]) -> Snippet:
    """Return of a turn in a list the fact that is asked for, or what came of the turn."""
    if facts and facts[0].uuid in selected:
        return Snippet(facts[0].text)
    return Snippet(hit.outcome or ("" if hit.fact == hit.prompt else hit.fact))


def _shown_facts(
    facts: Sequence[IndexedFact], title: str, selected: Collection[str]
) -> list[IndexedFact]:
    written = shown_text(title)
    return [
        indexed
        for indexed in facts
        if indexed.fact.uuid in selected
        or _is_ended_decision(indexed.fact)
        or not repeats_title(indexed.fact, written)
    ]


def _is_ended_decision(fact: Fact) -> bool:
    """Return whether a reader must know of its end, whatever else says what was decided."""
    return fact.relation in DECISIONS and fact.invalid_at is not None


def _hit(
    ranked: RankedTurn,
    prompt: str,
    title: TurnTitle,
    facts: Sequence[Fact],
    *,
    passage: str,
    files: tuple[str, ...],
) -> SearchHit:
    receipt = ranked.turn.receipt
    best = facts[0] if facts else None
    shown = [fact.text for fact in facts] or [passage]
    return SearchHit(
        id=receipt.turn_id[:ID_CHARS],
        prompt=prompt,
        intent=title.intent,
        outcome=title.outcome,
        started_at=receipt.started_at,
        fact=best.text if best else passage,
        score=round(ranked.score, 4),
        relevance=ranked.relevance,
        relation=best.relation if best else PASSAGE,
        valid_at=best.valid_at if best else receipt.started_at,
        invalid_at=best.invalid_at if best else None,
        group_id=receipt.group_id,
        session_id=receipt.session_id,
        turn_id=receipt.turn_id,
        archive=receipt.archive,
        first_line=receipt.first_line,
        last_line=receipt.last_line,
        passage="" if repeats_any(passage, (prompt, *shown)) else passage,
        more_facts=tuple(map(_hit_fact, facts[1:])),
        files=files,
        ended_by=best.ended_by if best else "",
        later_turn_says=best.later_turn_says if best else "",
        format=receipt.format,
    )


def _hit_fact(fact: Fact) -> HitFact:
    marks = fact.ended_by, fact.later_turn_says
    return HitFact(fact.text, fact.relation, fact.valid_at, fact.invalid_at, *marks)
