"""What of a turn a hit shows: its facts and passages best first, and a sentence that answers."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from turnetl.base.model import Fact
from turnetl.base.relations import (
    CAUSED_BY,
    DECISIONS,
    EDITS,
    FAILED_WITH,
    FIXED_BY,
    PREFERS,
    REPORTED,
)
from turnetl.base.results import described
from turnetl.base.terms import Tokenizer
from turnetl.episode_text.conversation import from_episode_text, paragraphs, sentences
from turnetl.episode_text.prose import clip, is_informative, plain
from turnetl.index.documents import embedded_passages, fact_text
from turnetl.index.port import IndexedFact, IndexedTurn, PassageTokens
from turnetl.llm.embedders.static_model import StaticModel
from turnetl.retrieval.match import query_words
from turnetl.retrieval.query import Query, contains_phrases
from turnetl.retrieval.ranking import token_matches
from turnetl.retrieval.repetition import repeats_any

_READ_CHARS = (12_000, 6_000)
"""Of the head and the tail of an answer."""
_MAX_CHARS = 220
"""Of a snippet."""
_FAR_CHARS, _BEFORE_CHARS = 90, 40
"""A first word of the query that is further on begins the snippet, after that much of the text."""
_ASKED_FOR = 0.15
"""What a sentence gains that says what the query asks for: a reason, an error, a decision."""
_LEAST_SHARE = 0.25
"""Of the tokens of the query, for a sentence to be shown in place of the outcome."""
_REPEATED_SHARE = 0.7
"""Of the words of a title, or of a sentence, for the sentence to repeat the title."""
_FOLDER_OF_USER = re.compile(r"(?<![\w/])/(?:Users|home)/[\w.-]+(?=/)")
_FAILURE = re.compile(r"\w*(?:Error|Exception|panic)\b|\b(?:FAIL|[Ff]ailed|error|fatal)\w*")
"""The line of an outcome that says what failed."""
_NO_FAILURE = re.compile(r"rejected by the user|[Ii]nterrupted|not permitted|doesn't want")
"""The outcome of a step that a person stopped."""
_WORD = re.compile(r"[^\W_]+(?:[._/\\-]+[^\W_]+)*")


@dataclass(frozen=True, slots=True)
class _Intention:
    """What a query asks for, and which facts and sentences say that."""

    query: re.Pattern[str]
    relations: frozenset[str]
    sentence: re.Pattern[str]


def _words(text: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{text})\b", re.IGNORECASE)


_INTENTIONS = (
    _Intention(
        _words("why|reasons?|causes?|caused|warum|pourquoi"),
        frozenset({CAUSED_BY, FIXED_BY}),
        _words("because|since|due to|root cause|caused|the reason|therefore|so that|problem is"),
    ),
    _Intention(
        _words("errors?|fail(?:s|ed|ing|ures?)?|crash(?:es|ed)?|exceptions?|broken?|bugs?"),
        frozenset({FAILED_WITH, REPORTED, FIXED_BY}),
        _FAILURE,
    ),
    _Intention(
        _words(
            "decided?|decisions?|chos(?:e|en)|choose|choice|agreed?|options?|prefer(?:red)?|"
            "rejected"
        ),
        DECISIONS | {PREFERS},
        _words("decided|chose|instead of|rather than|we use|let's|agreed|prefer"),
    ),
    _Intention(
        _words("fix(?:ed|es)?|solved?|resolved?|repaired|mended|how did"),
        frozenset({FIXED_BY}),
        _words("fixed|fix is|the fix|now|resolved|solution|changed"),
    ),
    _Intention(
        _words("changed?|added|removed?|renamed|moved?|edited|introduced"),
        EDITS,
        _words("added|removed|renamed|moved|changed|updated|created"),
    ),
)


@dataclass(frozen=True, slots=True)
class Snippet:
    """A sentence or two of a turn, on one line."""

    text: Annotated[
        str,
        described(
            "What of the turn answers the query best: sentences of it, a failed step or a fact, "
            "else its outcome; folders of users are `~`. Empty if the title says it."
        ),
    ]
    highlights: Annotated[
        tuple[tuple[int, int], ...],
        described(
            "Where words of the query stand in `text`: the first character, from 0, and the one "
            "after the last."
        ),
    ] = ()

    def parts(self) -> Iterator[tuple[str, bool]]:
        """Yield the text in pieces, each with whether it is highlighted."""
        end = 0
        for start, stop in self.highlights:
            yield self.text[end:start], False
            yield self.text[start:stop], True
            end = stop
        yield self.text[end:], False


NO_SNIPPET = Snippet("")


class ExcerptRanking:
    """Orders short texts of a hit by how many tokens of the query they contain, or similar ones.

    It uses the offline vectors with every embedder: a hit must not cost a request. The order
    depends on nothing but the query and the text.
    """

    def __init__(self, query: Query, static_model: StaticModel, passages: PassageTokens) -> None:
        self._query = query
        self._static_model = static_model
        self._keys = passages.keys
        self._scores = self._matches(passages.tokens, passages.starts)

    def best_facts(self, facts: Sequence[Sequence[IndexedFact]]) -> list[list[IndexedFact]]:
        """Return the facts of each turn, best first; equal ones in their order."""
        if not facts:
            return []
        scores = self.shares([fact_text(fact) for of_turn in facts for fact in of_turn])
        ends = np.cumsum([len(of_turn) for of_turn in facts])
        return [
            [of_turn[position] for position in np.argsort(-of_facts, kind="stable").tolist()]
            for of_turn, of_facts in zip(facts, np.split(scores, ends[:-1]), strict=True)
        ]

    def best_passage(self, turn: IndexedTurn) -> str:
        """Return the best passage of a turn; empty if it has none."""
        return next(iter(self.best_passages(turn, 1)), "")

    def best_passages(self, turn: IndexedTurn, count: int) -> list[str]:
        """Return at most this many passages of a turn, best first; those with the phrases lead."""
        passages = [passage.text for passage in embedded_passages(turn.text)]
        scores = self._scores[self._keys == turn.key][: len(passages)]
        if self._query.phrases:
            scores = scores + [contains_phrases(self._query, passage) for passage in passages]
        return [passages[position] for position in np.argsort(-scores, kind="stable")[:count]]

    def shares(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the share of the query's tokens that each text contains, or similar ones."""
        if not texts:
            return np.zeros(0, dtype=np.float32)
        tokens = self._static_model.tokenize(texts)
        starts = np.cumsum([0, *(len(of_text) for of_text in tokens)])[:-1]
        return self._matches(np.array([*chain(*tokens)], np.uint16), starts)

    def _matches(
        self, tokens: NDArray[np.uint16], starts: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return the share of the query's tokens that each text contains, from 0 to 1."""
        if not len(starts) or not len(self._query.tokens):
            return np.zeros(len(starts), dtype=np.float32)
        matched = token_matches(self._query.tokens, tokens, starts, self._static_model)
        share: NDArray[np.float32] = matched.mean(axis=0)
        return share


@dataclass(frozen=True, slots=True)
class _Candidate:
    text: str
    relation: str = ""
    following: str = ""
    """The sentence after it, which may explain it."""


@dataclass(frozen=True, slots=True)
class TitledTurn:
    """A turn with what a hit shows of it beside the snippet."""

    turn: IndexedTurn
    facts: Sequence[Fact]
    title: str
    outcome: str


class SnippetFinder:
    """Finds what of a turn answers a query best."""

    def __init__(self, query: Query, excerpts: ExcerptRanking) -> None:
        self._query, self._excerpts = query, excerpts
        self._tokenizer = Tokenizer()
        words = query_words(query.text, self._tokenizer, query.alternatives)
        self._terms = frozenset().union(*(way for word in words for way in word.ways))
        self._unspaced = [word.text for word in words if word.is_unspaced]
        self._asked = [one for one in _INTENTIONS if one.query.search(query.text)]

    def snippets(self, titled: Sequence["TitledTurn"]) -> list[Snippet]:
        """Return of each turn the best sentences, or its outcome if none has much of the query."""
        if not titled:
            return []
        failed = self._asks_for_errors
        candidates = [
            [*_of_facts(one.facts), *_of_turn(one.turn, with_failures=failed)] for one in titled
        ]
        shares = self._excerpts.shares([one.text for of_turn in candidates for one in of_turn])
        ends = np.cumsum([len(of_turn) for of_turn in candidates])
        parts = zip(titled, candidates, np.split(shares, ends[:-1]), strict=True)
        return [self._snippet(*part) for part in parts]

    def _snippet(
        self, titled: "TitledTurn", candidates: Sequence[_Candidate], shares: NDArray[np.float32]
    ) -> Snippet:
        scores = shares + [self._asked_for(one) for one in candidates]
        ordered = np.argsort(-scores, kind="stable").tolist()
        title = titled.title, set(self._tokenizer.count(titled.title))
        best = next((one for one in ordered if not self._repeats(candidates[one].text, *title)), -1)
        if best < 0 or (shares[best] < _LEAST_SHARE and titled.outcome):
            return self.marked(titled.outcome if is_informative(titled.outcome) else "")
        chosen = candidates[best]
        both = f"{chosen.text} {chosen.following}"
        return self.marked(both if chosen.following and len(both) <= _MAX_CHARS else chosen.text)

    def marked(self, text: str) -> Snippet:
        """Return a text on one line, around the first word of the query if it is long."""
        line = _FOLDER_OF_USER.sub("~", " ".join(text.split()))
        spans = self._spans(line)
        first = spans[0][0] if spans else 0
        if first > _FAR_CHARS:
            start = max(0, min(first, len(line) - _FAR_CHARS) - _BEFORE_CHARS)
            start = line.find(" ", start) + 1
            line = f"…{line[start:]}"
        if len(line) > _MAX_CHARS:
            line = f"{line[:_MAX_CHARS].rpartition(' ')[0] or line[:_MAX_CHARS]}…"
        spans = self._spans(line)
        return Snippet(line, tuple(spans))

    @property
    def _asks_for_errors(self) -> bool:
        return any(FAILED_WITH in one.relations for one in self._asked)

    def _repeats(self, text: str, title: str, shown: set[str]) -> bool:
        """Return whether a text says what the title of these terms says, perhaps in other words."""
        if repeats_any(text, [title]):
            return True
        words = set(self._tokenizer.count(text))
        return len(words & shown) > _REPEATED_SHARE * min(len(words), len(shown))

    def _asked_for(self, candidate: _Candidate) -> float:
        says = any(
            candidate.relation in one.relations or one.sentence.search(candidate.text)
            for one in self._asked
        )
        return _ASKED_FOR if says else 0.0

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """Return where words of the query stand in a text; no two overlap."""
        spans = [
            match.span()
            for match in _WORD.finditer(text)
            if not self._terms.isdisjoint(self._tokenizer.count(match[0]))
        ]
        literal = [*self._unspaced, *self._query.phrases]
        for part in literal:
            spans += [found.span() for found in re.finditer(re.escape(part), text, re.IGNORECASE)]
        joined: list[tuple[int, int]] = []
        for start, stop in sorted(spans):
            if joined and start <= joined[-1][1]:
                joined[-1] = joined[-1][0], max(stop, joined[-1][1])
            else:
                joined.append((start, stop))
        return joined


def _of_facts(facts: Sequence[Fact]) -> Iterator[_Candidate]:
    """Yield the facts that hold; those that ended only if none holds."""
    holding = [fact for fact in facts if fact.invalid_at is None]
    for fact in holding or facts:
        yield _Candidate(fact.text, fact.relation)


def _of_turn(turn: IndexedTurn, *, with_failures: bool) -> Iterator[_Candidate]:
    """Yield the sentences of the answer and of the user, and perhaps the failed steps."""
    said = from_episode_text(turn.text)
    for text in (said.answer, said.prompt, *said.steering):
        for paragraph in paragraphs(clip(text, *_READ_CHARS)):
            parts = sentences(plain(paragraph))
            for part, following in zip_longest(parts, parts[1:], fillvalue=""):
                if is_informative(part):
                    said_next = following if is_informative(following) else ""
                    yield _Candidate(part, following=said_next)
    for step in said.steps if with_failures else ():
        if step.is_error and not _NO_FAILURE.search(step.outcome):
            parts = step.outcome.removeprefix("failed: ").split("; ")
            failure = next((one for one in parts if _FAILURE.search(one)), parts[-1])
            yield _Candidate(f"`{step.input or step.tool}` failed: {failure}", FAILED_WITH)
