"""Recall of the search on public sets of long conversations: what `locomo` and `longmemeval` share.

Each session of a conversation becomes an archive. The structural extractor makes the graph; no
model is called. A question is asked of its own conversation, at its own time.

Printed, by kind of question, for `turnetl search` and for plain BM25 over turns and over sessions:
the share of the questions for which a session with evidence is the first, or among the first 5 and
10, with the 95 % interval for the first; the mean reciprocal rank of that session; the share of the
turns with evidence among the first 10 turns. With `weights`, also the recall of weights that were
chosen without the conversations that are measured.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

import numpy as np

from benchmarks.plain_bm25 import PlainBm25
from benchmarks.ranking_weights import RecordedQuestion, numbered, recorded_turns
from benchmarks.retrieval import read_corpus
from turnetl import pipeline, wiring
from turnetl.base.clock import now
from turnetl.base.model import Episode
from turnetl.evaluation.intervals import wilson
from turnetl.index.conditions import Selection
from turnetl.lake import Lake
from turnetl.pipeline.index import OpenIndex, current_index
from turnetl.retrieval.ranking import WEIGHTS
from turnetl.retrieval.search import search
from turnetl.settings import Settings

SEARCH = "turnetl search"
DEPTHS = (1, 5, 10)
TURNS = 10
MAX_HITS = 200
"""Turns that are asked for, so that they are of ten sessions."""


@dataclass(frozen=True)
class Message:
    id: str
    """Unique in its conversation."""
    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True)
class ConversationSession:
    id: str
    start: datetime
    messages: Sequence[Message]
    """At least one."""


@dataclass(frozen=True)
class ConversationQuestion:
    text: str
    kind: str
    sessions: frozenset[str]
    """The sessions with evidence, at least one."""
    messages: frozenset[str]
    """The messages with evidence."""
    asked_at: datetime


@dataclass(frozen=True)
class Conversation:
    name: str
    sessions: Sequence[ConversationSession]
    questions: Sequence[ConversationQuestion]

    def end(self) -> datetime:
        """Return the time of the last message: one a minute."""
        return max(one.start + timedelta(minutes=len(one.messages) - 1) for one in self.sessions)


@dataclass(frozen=True)
class ConversationTurn:
    """A kept turn with the messages that it holds."""

    episode: Episode
    session: str
    messages: frozenset[str]


@dataclass(frozen=True)
class QuestionResult:
    """What a way to search found for one question."""

    session_rank: int | None
    """From 1, of the first session with evidence."""
    evidence_share: float
    """Of the turns with evidence, those among the first ten."""


@dataclass
class MeasuredQuestions:
    """What was found for the questions of some conversations, in their order."""

    conversations: int = 0
    turns: int = 0
    asked: list[ConversationQuestion] = field(default_factory=list)
    results: dict[str, list[QuestionResult]] = field(default_factory=dict)
    recorded: list[RecordedQuestion] = field(default_factory=list)
    """For the choice of weights, if they were asked for."""


def write_archives(conversation: Conversation, folder: Path) -> None:
    """Write an archive of Claude Code's form for each session."""
    for session in conversation.sessions:
        rows = []
        for minute, message in enumerate(session.messages):
            row = {
                "type": message.role,
                "sessionId": f"{conversation.name} {session.id}",
                "cwd": f"/home/dev/{conversation.name}",
                "uuid": f"{conversation.name} {message.id}",
                "timestamp": (session.start + timedelta(minutes=minute)).isoformat(),
                "message": {"role": message.role, "content": message.text},
            }
            rows.append(json.dumps(row))
        path = folder / conversation.name / f"{session.id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def turns_of(
    conversation: Conversation, episodes: Sequence[Episode]
) -> Mapping[str, ConversationTurn]:
    """Return the turns by id. A turn has the messages from its prompt to the next one."""
    found: dict[str, ConversationTurn] = {}
    by_prompt = {episode.turn.prompt_id: episode for episode in episodes}
    for session in conversation.sessions:
        current: tuple[Episode, list[str]] | None = None
        for message in session.messages:
            episode = by_prompt.get(f"{conversation.name} {message.id}")
            if episode is not None:
                current = episode, []
            if current is not None:
                current[1].append(message.id)
                turn = ConversationTurn(current[0], session.id, frozenset(current[1]))
                found[current[0].turn_id] = turn
    return found


async def measure(
    settings: Settings,
    archives: Path,
    conversations: Sequence[Conversation],
    measured: MeasuredQuestions,
    *,
    weights: bool = False,
) -> None:
    """Ingest the conversations into one lake, ask their questions and add what was found."""
    for conversation in conversations:
        write_archives(conversation, archives)
    await pipeline.backfill([str(archives)], settings, pipeline.RunOptions(), now)
    corpus = read_corpus(Lake(settings.lake))
    async with current_index(settings, now) as opened:
        for conversation in conversations:
            prefix = f"{conversation.name} "
            episodes = [
                one for one in corpus.turns if (one.turn.prompt_id or "").startswith(prefix)
            ]
            turns = turns_of(conversation, episodes)
            measured.conversations += 1
            measured.turns += len(turns)
            selection = Selection(groups=(episodes[0].turn.group_id,))
            for question in conversation.questions:
                measured.asked.append(question)
                found = await by_search(question, opened, selection)
                _add(measured, SEARCH, question, [turns[one] for one in found], turns)
                if weights:
                    recorded = await _recorded(question, opened, selection, turns)
                    measured.recorded.append(recorded(conversation.name))
            for way, rank in plain_ways(turns):
                for question in conversation.questions:
                    _add(measured, way, question, rank(question.text), turns)


async def by_search(
    question: ConversationQuestion, opened: OpenIndex, selection: Selection
) -> list[str]:
    found = await search(
        opened.index,
        question.text,
        opened.embedder,
        now=question.asked_at,
        selection=selection,
        limit=MAX_HITS,
        thesaurus=wiring.thesaurus(),
    )
    return [hit.turn_id for hit in found.hits]


async def _recorded(
    question: ConversationQuestion,
    opened: OpenIndex,
    selection: Selection,
    turns: Mapping[str, ConversationTurn],
) -> Callable[[str], RecordedQuestion]:
    found = await recorded_turns(
        opened.index,
        opened.embedder,
        question.text,
        now=question.asked_at,
        selection=selection,
        thesaurus=wiring.thesaurus(),
    )
    sessions = [turns[one.name].session for one in found]
    return lambda fold: RecordedQuestion(
        fold,
        np.array([one.evidence for one in found]).reshape(-1, len(WEIGHTS)),
        np.array([session in question.sessions for session in sessions], dtype=np.bool_),
        numbered(sessions),
    )


Ranked = Callable[[str], Sequence[ConversationTurn]]


def plain_ways(turns: Mapping[str, ConversationTurn]) -> Iterator[tuple[str, Ranked]]:
    """Yield BM25 over the texts of turns, and over those of sessions."""
    ordered = list(turns.values())
    index = PlainBm25([one.episode.text for one in ordered])

    def by_turn(text: str) -> Sequence[ConversationTurn]:
        return [ordered[place] for place in _best(index.scores(text))]

    yield "BM25 over turns", by_turn
    sessions: dict[str, list[ConversationTurn]] = {}
    for one in ordered:
        sessions.setdefault(one.session, []).append(one)
    grouped = list(sessions.values())
    whole = PlainBm25(["\n".join(one.episode.text for one in group) for group in grouped])

    def by_session(text: str) -> Sequence[ConversationTurn]:
        return [one for place in _best(whole.scores(text)) for one in grouped[place]]

    yield "BM25 over sessions", by_session


def _best(scores: Sequence[float]) -> list[int]:
    order = sorted(range(len(scores)), key=lambda place: -scores[place])
    return [place for place in order if scores[place] > 0]


def _add(
    measured: MeasuredQuestions,
    way: str,
    question: ConversationQuestion,
    found: Sequence[ConversationTurn],
    turns: Mapping[str, ConversationTurn],
) -> None:
    right = [one for one in turns.values() if one.messages & question.messages]
    ordered = list(dict.fromkeys(one.session for one in found))
    rank = next((place for place, one in enumerate(ordered, 1) if one in question.sessions), None)
    first = {one.episode.turn_id for one in found[:TURNS]}
    hits = sum(one.episode.turn_id in first for one in right)
    share = hits / len(right) if right else 0.0
    measured.results.setdefault(way, []).append(QuestionResult(rank, share))


def print_tables(measured: MeasuredQuestions, kinds: Sequence[str]) -> None:
    print(
        f"{measured.conversations} conversations, {measured.turns} turns, "
        f"{len(measured.asked)} questions with evidence"
    )
    for kind in ("all", *kinds):
        _print_table(kind, measured)


def _print_table(kind: str, measured: MeasuredQuestions) -> None:
    places = [place for place, one in enumerate(measured.asked) if kind in ("all", one.kind)]
    print(f"\n{kind}: {len(places)} questions")
    if not places:
        return
    for way, found in measured.results.items():
        chosen = [found[place] for place in places]
        counts = [
            sum((one.session_rank or MAX_HITS) <= depth for one in chosen) for depth in DEPTHS
        ]
        low, high = wilson(counts[0], len(chosen))
        recalls = "  ".join(
            f"@{depth} {100 * count / len(chosen):.1f}"
            for depth, count in zip(DEPTHS, counts, strict=True)
        )
        mean = sum(1 / one.session_rank for one in chosen if one.session_rank) / len(chosen)
        evidence = 100 * sum(one.evidence_share for one in chosen) / len(chosen)
        print(
            f"  {way:20} session {recalls} [{100 * low:.1f} {100 * high:.1f}]  MRR {mean:.3f}"
            f"  evidence turns @{TURNS} {evidence:.1f}"
        )


def print_misses(measured: MeasuredQuestions, kind: str) -> None:
    """Print the questions of a kind whose session is not first."""
    for question, one in zip(measured.asked, measured.results[SEARCH], strict=True):
        if question.kind == kind and one.session_rank != 1:
            print(f"  {one.session_rank}  {question.text}")
