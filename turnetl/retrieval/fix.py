"""Where an error occurred, and what resolved it.

A failure is resolved when the graph says that it no longer holds: the same thing passed later,
after a change or on a rerun. A text that asks for an error may be a message, a part of one, or the
output of many tests: its lines about what passed do not count.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Annotated

import numpy as np

from turnetl.base.model import Entity, Fact, GroupId
from turnetl.base.relations import CHANGES, COMMITTED, FAILED_WITH, FAILURES, FIXED_BY
from turnetl.base.results import described
from turnetl.base.terms import Tokenizer
from turnetl.episode_text.conversation import from_episode_text
from turnetl.episode_text.retelling import OUTCOMES
from turnetl.index.conditions import Selection
from turnetl.index.lookup import StatedFact
from turnetl.index.persistent import PersistentIndex
from turnetl.index.port import IndexedFact, IndexedTurn, Keys
from turnetl.llm.embedders import Embedder
from turnetl.llm.embedders.static_model import StaticModel
from turnetl.retrieval.items import ERROR_LABEL
from turnetl.retrieval.match import Match
from turnetl.retrieval.query import Query, analyze, normalized, used_part
from turnetl.retrieval.ranking import described_shares, rank
from turnetl.retrieval.turn_summary import TurnSummary, summarize

EXACT = 2.0
"""The score of an error whose name is the text."""
_MIN_SHARE = 0.6
"""Share of the query's terms that an error must have: a type alone is enough for `KeyError`."""
_MIN_NAME_SHARE = 0.8
_MIN_NAME_TERMS = 4
"""A log contains few words of many errors by chance, and most of a long name by no chance."""
_CUT = "…"
_COMMON_WORDS = """
a access already an and argument arguments as at be build by can cannot code command connection
could denied dereference did directory does error errors exception exist exists exit exited
expected fail failed failing fails failure fatal file files find for found from get got has have
in index input invalid is it job line lint load memory missing module name nil no not null object
of on open operation or out output panic path permission pointer process range read refused
request run running runs status step string such system test tests that the this timed timeout to
type unable undefined unexpected unknown valid value want warning was with write ENOENT EACCES
ENOTDIR ECONNREFUSED ETIMEDOUT EPIPE
"""
"""What messages of many errors say: alone it does not tell one from another."""
_QUALIFIER = re.compile(r"[./:]+")


class ErrorMatcher:
    def __init__(self, text: str, names: Iterable[str] = ()) -> None:
        """Prepare the comparison with errors of these names: a rare name says more."""
        self._tokenizer = Tokenizer()
        self._common = frozenset(self._tokenizer.count(_COMMON_WORDS))
        text = without_passing(text)
        self._text = normalized(text)
        self._terms = set(self._tokenizer.count(text))
        known = [set(self._tokenizer.count(name)) for name in names]
        tests = self._term_sets(failed_tests(text))
        self._tests = tests
        self._required = tests or self._rarest(self._term_sets(identifiers(text)), known)

    @property
    def is_named(self) -> bool:
        """Whether the text has the name of an error, a test or a symbol, not only words."""
        return bool(self._required)

    @property
    def is_common(self) -> bool:
        """Whether the text has only words and numbers that messages of many errors have."""
        return not self._telling(self._terms)

    def match(self, name: str, statement: str) -> Match:
        """Return how an error with a score matches: strongly by its test, or by telling words."""
        name_terms = set(self._tokenizer.count(name))
        if self._named(name_terms):
            return Match.STRONG
        asked, said = self._telling(self._terms), self._telling(name_terms)
        shared = len(asked & (said | set(self._tokenizer.count(statement))))
        is_strong = shared and (2 * shared >= len(asked) or 2 * len(asked & said) >= len(said) > 0)
        return Match.STRONG if is_strong else Match.WEAK

    def score(self, name: str, statement: str) -> float:
        """Return how well an error with this statement matches: 0 to 1, or `EXACT`."""
        plain = normalized(name).rstrip(_CUT)
        if not self._terms or not plain or is_passing(name):
            return 0.0
        if plain == self._text:
            return EXACT
        name_terms = set(self._tokenizer.count(name))
        # `paths.ReadSession` is also known as `ReadSession`.
        unqualified = _QUALIFIER.sub(" ", f"{name} {statement}")
        known = name_terms | set(self._tokenizer.count(f"{statement} {unqualified}"))
        contained = self._contained(name, plain, name_terms)
        return max(self._named(name_terms), self._shared(known), contained)

    def _telling(self, terms: AbstractSet[str]) -> set[str]:
        return {term for term in terms - self._common if any(map(str.isalpha, term))}

    def _named(self, name_terms: AbstractSet[str]) -> float:
        return 1.0 if any(test == name_terms for test in self._tests) else 0.0

    def _shared(self, known: AbstractSet[str]) -> float:
        """Return the share of the text that is in the error; 0 without the text's rarest name."""
        share = len(self._terms & known) / len(self._terms)
        has_name = not self._required or any(name <= known for name in self._required)
        return share if share >= _MIN_SHARE and has_name else 0.0

    def _contained(self, name: str, plain: str, name_terms: AbstractSet[str]) -> float:
        """Return the share of the name that the text contains; 0 if it may do so by chance."""
        share = len(self._terms & name_terms) / max(len(name_terms), 1)
        if len(name_terms) > 1 and plain in self._text:
            return 1.0
        is_much = share >= _MIN_NAME_SHARE and len(name_terms) >= _MIN_NAME_TERMS
        complete = identifiers(name)[: -1 if name.endswith(_CUT) else None]
        has_names = all(terms <= self._terms for terms in self._term_sets(complete))
        return share if is_much and has_names else 0.0

    def _term_sets(self, names: Iterable[str]) -> list[frozenset[str]]:
        counted = (frozenset(self._tokenizer.count(name)) for name in names)
        return [terms for terms in counted if terms]

    def _rarest(
        self, names: Collection[frozenset[str]], known: Collection[AbstractSet[str]]
    ) -> list[frozenset[str]]:
        counts = Counter({name: sum(name <= terms for terms in known) for name in names})
        fewest = min(counts.values(), default=0)
        return [name for name, count in counts.items() if count == fewest]


_TEST_LABEL = "Test"
_UNRESOLVED, _EDITED, _ANSWERED = "unresolved", "edited", "answered"
_MIN_DESCRIBED, _MIN_TURN = 0.26, 0.3
"""How well an error must have what other words say, and how well its turn must match, each of 1."""
_RANKED = 60
"""Turns whose errors are compared with the query."""
_OCCURRENCES = 5
"""Occurrences of an error that are returned, the last ones."""
_LONGEST = timedelta(days=2)
"""Time between the start of a turn and a success in it."""
_CANDIDATES = 50
"""Turns that are examined for the success that resolved a failure."""
_ANSWER_CHARS = 600


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A failure in a turn, and what resolved it."""

    fact: Annotated[Fact, described("The failure.")]
    turn: Annotated[TurnSummary, described("The turn in which it occurred.")]
    resolved_at: Annotated[
        datetime | None, described("Time of the success; null if no later success is known.")
    ]
    resolved_by: Annotated[
        TurnSummary | None, described("The turn of the success; null if it is not known.")
    ]
    evidence: Annotated[
        tuple[Fact, ...],
        described("What was changed between failure and success, what fixed it, and its commit."),
    ]
    answer: Annotated[
        str,
        described(
            "What a subagent reports that fixed it, else what the agent wrote last in the turn of"
            " the success, or else of the failure."
        ),
    ]
    resolution: Annotated[
        str,
        described(
            "`fixed`: it passed after a change; `passed_on_rerun`: without one; `passed`: it is not"
            " known after what; `edited`: what it names was edited, and no later run shows it"
            " passing; `answered`: the agent said why, and changed nothing; `unresolved`: no later"
            " run shows it passing."
        ),
    ]

    @property
    def outcome(self) -> str:
        """The resolution as texts say it."""
        return OUTCOMES.get(self.resolution, "passed later")


@dataclass(frozen=True, slots=True)
class ErrorHistory:
    """An error or a failed test, and where it occurred."""

    error: Annotated[Entity, described("The error.")]
    occurrences: Annotated[
        tuple[Occurrence, ...],
        described("The last occurrences: the resolved ones first, newest first."),
    ]
    count: Annotated[int, described("In how many turns it occurred.")]
    match: Annotated[
        Match,
        described("`weak`: only words of it are in the text that many errors have, or few of it."),
    ] = Match.STRONG


async def find_fixes(
    index: PersistentIndex,
    text: str,
    embedder: Embedder,
    *,
    groups: Sequence[GroupId] = (),
    limit: int,
) -> list[ErrorHistory]:
    """Return the errors of groups (all, if none is named) that match a text, best first.

    The text is a message, a part of one, or a log that contains it.
    """
    # Quotes in a message are not phrases of a query.
    plain = without_passing(text).replace('"', " ")
    if not plain.strip():
        return []
    keys = _failing_turns(index, tuple(groups))
    static_model = StaticModel.open()
    query = await analyze(
        _telling_lines(plain), embedder, static_model, search_embedder=index.search_embedder
    )
    ranked = rank(query, index, static_model, keys)[:_RANKED] if len(keys) else []
    facts = list(index.facts([one.turn.key for one in ranked]).values())
    names = {error.name for of_turn in facts for one in of_turn for error in _errors(one)}
    matcher = ErrorMatcher(text, names)
    found = _matching(facts, matcher)
    if not found and not matcher.is_named:
        scores = [one.score for one in ranked]
        found = _described(query, [*zip(scores, facts, strict=True)], index, static_model)
    matches = [(matcher.match(error.name, statement), error) for error, statement in found]
    matches.sort(key=lambda pair: pair[0] is Match.WEAK)
    return [replace(error_history(index, error), match=match) for match, error in matches[:limit]]


def error_history(index: PersistentIndex, error: Entity) -> ErrorHistory:
    stated = index.lookup().facts_about(error.uuid)
    fixes = [one for one in stated if one.indexed.fact.relation == FIXED_BY]
    failures = [one for one in stated if one.indexed.fact.relation in FAILURES] or stated
    by_turn = {one.turns[-1]: one for one in failures}
    last = list(by_turn.items())[-_OCCURRENCES:]
    turns = index.turns([key for key, _ in last])
    found = [_occurrence(index, one, turns[key], fixes) for key, one in last if key in turns]
    found.sort(key=lambda one: one.turn.receipt.started_at, reverse=True)
    found.sort(key=lambda one: (one.resolved_at is None, one.resolution == _UNRESOLVED))
    return ErrorHistory(error, tuple(found), len(by_turn))


def _failing_turns(index: PersistentIndex, groups: tuple[GroupId, ...]) -> Keys:
    return np.union1d(
        index.select(Selection(groups=groups, label=ERROR_LABEL)),
        index.select(Selection(groups=groups, relation=FAILED_WITH)),
    )


_Stated = tuple[Entity, str]
"""An error, and the text of a fact about it."""


def _matching(facts: Iterable[Sequence[IndexedFact]], matcher: ErrorMatcher) -> list[_Stated]:
    """Return the errors that match, best first; only that one if one is the very text."""
    scores: dict[str, tuple[float, Entity, str]] = {}
    for indexed in (one for of_turn in facts for one in of_turn):
        # A failed test and its error are one failure: the one that the text names is returned.
        found = ((matcher.score(one.name, indexed.fact.text), one) for one in _errors(indexed))
        score, error = max(found, key=itemgetter(0), default=(0.0, None))
        if error is not None and score > scores.get(error.uuid, (0.0,))[0]:
            scores[error.uuid] = score, error, indexed.fact.text
    ordered = sorted(scores.values(), key=lambda found: (-found[0], found[1].name, found[1].uuid))
    is_exact = any(score >= EXACT for score, *_ in ordered)
    return [(error, text) for score, error, text in ordered if score >= EXACT or not is_exact]


def _described(
    query: Query,
    facts: Sequence[tuple[float, Sequence[IndexedFact]]],
    index: PersistentIndex,
    static_model: StaticModel,
) -> list[_Stated]:
    """Return the error that says best in other words what the text says, if any does.

    Args:
        facts: of each turn, with its score.
    """
    failures = [
        one
        for score, of_turn in facts
        for one in of_turn
        if score >= _MIN_TURN and one.fact.relation in FAILURES
    ]
    if not failures or not len(query.tokens):
        return []
    tokens = static_model.tokenize([f"{one.target.name} {one.fact.text}" for one in failures])
    scores = described_shares(query, tokens, index, static_model)
    best = max(range(len(failures)), key=lambda at: (scores[at], failures[at].fact.uuid))
    told = failures[best]
    return [(told.target, told.fact.text)] if scores[best] >= _MIN_DESCRIBED else []


def _telling_lines(text: str) -> str:
    """Return the lines of a long log that say what failed; a short text as it is."""
    if len(text) <= len(used_part(text)):
        return text
    telling = (line for line in text.split("\n") if _FAILURE_LINE.search(line[:_MAX_LINE]))
    return "\n".join(telling) or text


def _errors(indexed: IndexedFact) -> list[Entity]:
    """Return the error and the failed test that a fact is about."""
    ends = (indexed.target, indexed.source)
    if indexed.fact.relation == FAILED_WITH:
        return [end for end in ends if end is indexed.target or _TEST_LABEL in end.labels]
    return [end for end in ends if ERROR_LABEL in end.labels][:1]


def _occurrence(
    index: PersistentIndex, stated: StatedFact, turn: IndexedTurn, fixes: Sequence[StatedFact]
) -> Occurrence:
    fact, resolution = stated.indexed.fact, _resolution(stated.indexed.fact)
    resolving = _resolving_turn(index, stated, turn)
    (summary,) = summarize(index, [turn.key])
    answering = turn if resolving is None else resolving
    evidence = _evidence(index, stated, turn, resolving) if resolving else ()
    if resolution == _EDITED:
        edits = [one for one in fixes if _is_after(one.indexed.fact, fact)]
        evidence = tuple(one.indexed.fact for one in edits)
        edited = index.turns([one.turns[-1] for one in edits[-1:]])
        answering = next(iter(edited.values()), turn)
    return Occurrence(
        fact=fact,
        turn=summary,
        resolved_at=fact.invalid_at,
        resolved_by=next(iter(summarize(index, [resolving.key] if resolving else [])), None),
        evidence=evidence,
        answer=str(fact.attributes.get("fix", ""))
        or _ending(from_episode_text(answering.text).answer),
        resolution=resolution,
    )


def _resolution(fact: Fact) -> str:
    if fact.invalid_at is None:
        told = str(fact.attributes.get("resolution", ""))
        return told if told in (_EDITED, _ANSWERED) else _UNRESOLVED
    return str(fact.attributes.get("resolution", "passed"))


def _is_after(fix: Fact, failure: Fact) -> bool:
    return None in (fix.valid_at, failure.valid_at) or fix.valid_at >= failure.valid_at  # type: ignore[operator]  # neither is None


def _resolving_turn(
    index: PersistentIndex, stated: StatedFact, turn: IndexedTurn
) -> IndexedTurn | None:
    """Return the turn that invalidated a fact: the index records which facts a turn changed."""
    fact, ended_at = stated.indexed.fact, turn.receipt.ended_at
    if fact.invalid_at is None:
        return None
    if ended_at is not None and turn.receipt.started_at <= fact.invalid_at <= ended_at:
        return turn
    around = Selection(
        groups=(fact.group_id,),
        since=fact.invalid_at - _LONGEST,
        until=fact.invalid_at + timedelta(microseconds=1),
    )
    newest = index.newest(around, limit=_CANDIDATES)
    changed = index.lookup().changed_facts(newest)
    keys = [key for key in newest if key not in stated.turns and fact.uuid in changed[key]]
    return index.turns(keys[:1]).get(keys[0]) if keys else None


def _evidence(
    index: PersistentIndex, stated: StatedFact, turn: IndexedTurn, resolving: IndexedTurn
) -> tuple[Fact, ...]:
    """Return the changes between failure and success, and the fix, in the order of time."""
    failure = stated.indexed.fact
    start, end = failure.valid_at or turn.receipt.started_at, failure.invalid_at
    session = index.lookup().session(turn.receipt.session_id)
    if resolving.key in session and turn.key in session:
        keys = session[session.index(turn.key) : session.index(resolving.key) + 1]
    else:
        keys = [resolving.key]
    facts = {
        indexed.fact.uuid: indexed.fact
        for of_turn in index.facts(keys[-_CANDIDATES:]).values()
        for indexed in of_turn
        if indexed.fact.relation in CHANGES or _is_fix(indexed, stated)
    }
    later = [one for one in facts.values() if one.valid_at is not None and start <= one.valid_at]
    within = [fact for fact in later if end is not None and fact.valid_at <= end]  # type: ignore[operator]  # not None
    # What is found to work is committed afterwards. A commit is of several files.
    fixed = {fact.target for fact in within if fact.relation == FIXED_BY}
    within += [one for one in later if one.relation == COMMITTED and one.target in fixed]
    unique = {one.text if one.relation == COMMITTED else one.uuid: one for one in within}
    return tuple(sorted(unique.values(), key=lambda fact: (fact.valid_at or start, fact.uuid)))


def _is_fix(indexed: IndexedFact, failure: StatedFact) -> bool:
    failed = failure.indexed.source.uuid, failure.indexed.target.uuid
    return indexed.fact.relation == FIXED_BY and indexed.source.uuid in failed


def _ending(text: str) -> str:
    """Return the last paragraphs of a text that fit into an excerpt; at least the last one."""
    kept: list[str] = []
    for paragraph in reversed(text.split("\n\n")):
        if kept and sum(map(len, kept)) + len(paragraph) > _ANSWER_CHARS:
            break
        kept.insert(0, paragraph)
    ending = "\n\n".join(kept).strip()
    return ending if len(ending) <= 2 * _ANSWER_CHARS else f"{ending[: 2 * _ANSWER_CHARS]}…"


_FAILED_COUNT = re.compile(
    r"\b[1-9]\d* (?:\w+ )?(?:failed|failures?|errors?|problems?|issues?)\b|\b(?:failures?|failed"
    r"|errors?)\s?[:=]\s?[1-9]",
    re.IGNORECASE,
)
_PASSED = re.compile(
    r"---\s+(?:PASS|SKIP)\b.*|===\s+(?:RUN|PAUSE|CONT)\b.*|PASS(?:ED)?(?:\s.*)?"
    r"|.*\sPASSED(?:\s+\[\s*\d+%\])?|.*\.\.\.\s*ok|(?:OK|ok)(?:\s+\(.*\))?|ok\s+(?:\d+\b.*"
    r"|\S+\s+(?:\(cached\)|[\d.]+s\b).*)|[\u2713\u2714\u221a].*|(?i:(?:(?:success|info|result|done"
    r"|ok): )?(?:no (?:errors?|issues?|problems?|failures?)(?: (?:was|were))?(?: (?:found|detected"
    r"|reported))?|all checks passed|build success(?:ful)?)\b.{0,60})"
)
_COUNT = r"(?:\d+ [a-z]+(?: out| tests?| files?)?|[a-z]+(?: run)?: \d+)"
_COUNTS = re.compile(
    rf"[^\w]*(?:test result: ok\.|found|tests?:|result:)?\s*{_COUNT}(?:\s*[,;.]?\s*{_COUNT})*"
    r"(?:[\s;,]+(?:finished\b|in\b).*)?[^\w]*",
    re.IGNORECASE,
)
_NO_FAILURE = re.compile(
    r"\b0 (?:failed|failures?|errors?|problems?|issues?)\b|\b(?:failures?|failed|errors?): 0\b"
    r"|\b\d+ passed\b",
    re.IGNORECASE,
)
_TESTS = (
    re.compile(r"---\s+FAIL:\s+(?P<test>\S+)"),
    re.compile(r"(?:FAILED|ERROR)\s+\S+?::(?P<test>\S+)"),
    re.compile(r"\S+?\.\w+::(?P<test>\S+)\s+(?:FAILED|ERROR)\b.*"),
    re.compile(r"test\s+(?P<test>[\w:]+)\s+\.\.\.\s+FAILED"),
    re.compile(r"(?:FAIL|ERROR):?\s+(?P<test>test\w+)\b"),
    re.compile("\u25cf\\s+(?P<test>.+ \u203a .+)"),
    re.compile("[\u2715\u2717\u00d7]\\s+(?P<test>.+?)(?:\\s+\\(?\\d+ ?ms\\)?)?"),
)
_FAILURE_LINE = re.compile(
    r"(?i:\b(?:fail\w*|errors?|\w+error|\w+exception|panic|fatal|cannot|undefined|not found)\b)"
)
_FRAME = re.compile(r"at\s+\S.*|File \".*|-->\s.*|\d+ \|.*")
_QUOTED = re.compile(r"(?<!\w)(['\"`])([^\s'\"`]{1,80})\1(?!\w)")
_NOT_FOUND = re.compile(r"(\S+): (?:command )?not found(?!:)|command not found: (\S+)")
_STATUS = re.compile(
    r"\b(?:HTTP(?:/[\d.]+)?|status(?: code)?|error:?)\s+([1-5]\d\d)\b", re.IGNORECASE
)
_WORD = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|-)[\w$]+)*")
_NAME = re.compile(
    r".*[a-z0-9][A-Z].*|.*[A-Z]{2}[a-z].*|.*\w_\w.*|[A-Z]{1,6}\d{2,}|[A-Z]{5,}|.*::.*|[a-z]\w*\.\w+"
)
"""Camel case, snake case, a code such as `E0308`, capitals, or a name with a namespace."""
_FILE = re.compile(r".*\.(?:[a-z]{1,4}|json|toml|yaml|java|scala|swift)", re.IGNORECASE)
_COMMON = frozenset(
    {"ERROR", "ERRORS", "FAILED", "FAILURE", "FAILURES", "FATAL", "PANIC", "WARNING"}
)
"""Capitals that name nothing."""
_MAX_LINE = 500


def is_passing(line: str) -> bool:
    line = line.strip()
    if len(line) > _MAX_LINE:
        return False
    if _FAILED_COUNT.search(line):
        return False
    is_summary = _COUNTS.fullmatch(line) is not None and _NO_FAILURE.search(line) is not None
    return is_summary or _PASSED.fullmatch(line) is not None


def without_passing(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if not is_passing(line))


def failed_tests(text: str) -> list[str]:
    """Return the names of the tests that failed, in order, without classes and parameters."""
    found = (_failed_test(line.strip()[:_MAX_LINE]) for line in text.split("\n"))
    return list(dict.fromkeys(name for name in found if name))


def identifiers(text: str) -> list[str]:
    """Return what names one error among others: types, codes, quoted words, functions.

    Paths and lines of a stack are none: the same error occurs in several places.
    """
    cut = (line.strip()[:_MAX_LINE] for line in text.split("\n"))
    lines = (line for line in cut if not _FRAME.fullmatch(line))
    return list(dict.fromkeys(name for line in lines for name in _names(line)))


def _failed_test(line: str) -> str:
    matches = (pattern.match(line) for pattern in _TESTS[:-1])
    match = next((one for one in matches if one is not None), None) or _TESTS[-1].fullmatch(line)
    if match is None:
        return ""
    test = match["test"].strip()
    if " " in test:
        return test.rpartition(" \u203a ")[2]
    return test.rpartition("::")[2].partition("[")[0].partition("/")[0].strip(".,:;")


def _names(line: str) -> Iterator[str]:
    for _, quoted in _QUOTED.findall(line):
        if any(char.isalpha() for char in quoted) and "/" not in quoted:
            yield quoted
    for before, after in _NOT_FOUND.findall(line):
        yield before or after
    yield from _STATUS.findall(line)
    pieces = (piece for piece in re.split(r"[\s()\[\]{}<>,;='\"`]+", line) if "/" not in piece)
    for word in (word for piece in pieces for word in _WORD.findall(piece)):
        if _NAME.fullmatch(word) and word not in _COMMON and not _FILE.fullmatch(word):
            yield word
