"""Facts as summaries and digests retell them: what is worth it, in few words, and each once.

A reader was not there. So a question, a call of the agent's own tools that failed, a tag and what
points at something unsaid ("this is fine") are left out, whatever a graph holds.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from turnetl.base.model import Fact
from turnetl.base.relations import (
    DECISIONS,
    FAILED_CALL,
    FAILED_WITH,
    FIXED_BY,
    PREFERS,
    REJECTED,
    RENAMED,
    REPORTED,
    SUPERSEDES,
)
from turnetl.episode_text.conversation import from_episode_text
from turnetl.episode_text.intents import capital, fit, intent

MAX_CHARS = 220
OUTCOMES = {
    "fixed": "fixed",
    "passed_on_rerun": "passed on a rerun without a change",
    "edited": "edited afterwards: no later run shows it passing",
    "answered": "explained, and nothing was changed",
    "unresolved": "unresolved: no later run shows it passing",
}
"""What came of a failure, by its resolution."""

SPEAKER = re.compile(
    r"The (?P<who>user|agent) (?P<verb>decided(?: instead)?|took back|prefers|rejected|reported"
    r"|objected|agreed to what the agent proposed|accepted in the plan “[^”]{1,130}”"
    r"|(?:decided instead of|rejected) the \w{1,20} of `[^`]{1,200}`(?: \(`[^`]{0,200}`\))?): "
)
"""Begins the text of a fact that quotes someone."""
_ANSWER = re.compile(
    r"(?:(?:Asked|On) “(?P<question>[^”]{1,300})”,? the|The) user (?P<said>(?:chose|rejected) “.+"
    r"|answered: .+)"
)
_NO_QUESTION = re.compile(
    r"(?:which|what) [^,]{0,30}\b(?:approach|option|one|way)\b[^,]{0,30}\?$"
    r"|(?:what|how) (?:would|should) (?:you|we|i)\b|(?:should|shall|want|would|do|does)\b",
    re.IGNORECASE,
)
"""A question without which a choice is understood."""
_EMPTY = re.compile(r"\[[^\[\]]*\]|<?\b(?:https?|file)://\S+|</?[a-z][\w-]{0,40}>")
"""Links, tags, and placeholders in brackets (`[REDACTED_TEXT len=12]`)."""
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_POINTS = re.compile(
    r"(?:(?:i (?:think|guess|mean|assume)|and|but|so|then|also|just|yes|no|ok|well|maybe|again)"
    r",? ){0,3}(?:(?:it|this|that|these|those|they|them|he|she|there)\b|(?:then|again|also|not)\b"
    r"|[^ ]{1,12} (?:it|this|that|them)[.!]?$|i (?:was|am) \w{0,6} ?wondering)|#\d",
    re.IGNORECASE,
)
"""The beginning of a quote that says nothing without what was said before it."""
_REQUEST = re.compile(r"\?|\b(?:can|could|would) (?:we|you|i)\b|^please\b", re.IGNORECASE)
_OF_PEOPLE = DECISIONS | {REPORTED}
_PATH = re.compile(
    r"(?:(?<=`)|(?<= in ))(?:…|[\w.@~-]{1,60})/(?:[\w.@~-]{1,80}/){0,12}"
    r"([\w.@-]{1,100}\.[A-Za-z]\w{0,11})(?![\w/])"
)
_RAN = re.compile(r" \(`[^`]{1,200}`\)$")
_PLAN = "The user accepted the plan: "
_RESOLVED = ("Asked “", "On “", "The user chose", "The user agreed", _PLAN)
"""How decisions begin that answer the agent."""
_COMMIT = re.compile(r"(?P<what>Commit|Pull request) (?P<id>`[^`]{1,100}`): (?P<title>.+)")
_ASKS = re.compile(r" ?\(asks: [^)]*\)?$|; asks: [^)]*(?=\)|$)")
_WORD = re.compile(r"\w{3,}")
_MIN_WORDS, _SAME = 3, 0.75


def says_something(text: str) -> bool:
    """Return whether the text has a word beside links, tags and placeholders."""
    return bool(_LETTERS.search(_EMPTY.sub(" ", text)))


@lru_cache(maxsize=2048)
def retold(fact_text: str, relation: str) -> str:
    """Return the text of a fact on one line, without who said it; empty if it is not worth it."""
    text = " ".join(fact_text.split())
    if not says_something(SPEAKER.sub("", text)):
        return ""
    if relation in _OF_PEOPLE:
        return _said(text)
    if (commit := _COMMIT.fullmatch(text)) is not None:
        return f"{fit(commit['title'], MAX_CHARS)} ({commit['what'].lower()} {commit['id']})"
    text = _RAN.sub("", text)
    return fit(text if relation == RENAMED else short_paths(text), MAX_CHARS)


def _said(text: str) -> str:
    """Return what someone decided, wants, rejected or reported; empty if it is not understood."""
    if (answer := _ANSWER.match(text)) is not None:
        question, said = answer["question"] or "", answer["said"].removeprefix("answered: ")
        is_clear = not answer["said"].startswith("answered") and _NO_QUESTION.match(question)
        asked = f"“{question}” " if question and not is_clear else ""
        return fit(capital(f"{asked}{said}"), MAX_CHARS)
    if (spoken := SPEAKER.match(text)) is None:
        plan = text.removeprefix(_PLAN)
        return fit(text if plan == text else f"Accepted the plan “{plan}”", MAX_CHARS)
    said = text[spoken.end() :]
    # A user who stops a call says what to do instead. Only the call is rejected.
    stopped, _, call = spoken["verb"].partition("rejected the ")
    if call and not stopped:
        return fit(f"The {call}: {said}", MAX_CHARS).rstrip(":;, ")
    if spoken["who"] == "user" and not spoken["verb"].startswith("accepted"):
        is_report = spoken["verb"] == "reported"
        if not is_report and _REQUEST.search(said):
            # As in titles: what "can we …?" asks for.
            said = intent(from_episode_text(f"user: {said}"))
        if (not is_report and said.endswith(("?", "\uff1f"))) or _POINTS.match(said):
            return ""
    return fit(capital(said), MAX_CHARS).rstrip(":;, ")


def importance(fact: Fact) -> int:
    """Return the place of a decision in a list: the choices of the user first."""
    if fact.relation == REJECTED:
        return 4
    if fact.text.startswith(_RESOLVED):
        return 0
    if fact.relation == PREFERS:
        return 2
    return 3 if fact.text.startswith("The agent") else 1


def without_question(outcome: str) -> str:
    """Return the outcome of a turn without what it asks, which is told apart."""
    return _ASKS.sub("", outcome)


def short_paths(text: str) -> str:
    """Return a text in which a file is named without its folders."""
    return _PATH.sub(r"\1", text)


def is_told(fact: Fact) -> bool:
    """Return whether a summary or a digest tells the fact at all."""
    return not is_slip(fact) and bool(retold(fact.text, fact.relation))


def is_slip(fact: Fact) -> bool:
    """Return whether a call of the agent's own tools failed, such as an edit without a match."""
    return fact.relation == FAILED_WITH and fact.attributes.get("kind") == FAILED_CALL


def once(facts: Iterable[Fact], shown: Iterable[str] = ()) -> Iterator[tuple[Fact, str]]:
    """Yield the facts that are told, with their words; of those that say the same, the first.

    Args:
        shown: what is told already.
    """
    seen = {text.casefold(): _words(text) for text in shown}
    for fact in facts:
        if not is_told(fact):
            continue
        text = retold(fact.text, fact.relation)
        own = _words(text) if fact.relation in _OF_PEOPLE else frozenset[str]()
        if text.casefold() not in seen and not any(_repeats(own, one) for one in seen.values()):
            seen[text.casefold()] = own
            yield fact, text


def adds(text: str, told: Iterable[str]) -> bool:
    """Return whether an intent is understood alone and says what none of the texts says."""
    is_clear = not _POINTS.match(text) and not text.endswith(("?", "\uff1f"))
    return is_clear and not any(_repeats(_words(text), _words(one)) for one in told)


def _words(text: str) -> frozenset[str]:
    """Return what is compared of a text: its longer words."""
    return frozenset(_WORD.findall(text.casefold()))


def _repeats(own: frozenset[str], other: frozenset[str]) -> bool:
    fewer = min(len(own), len(other))
    return fewer >= _MIN_WORDS and len(own & other) >= _SAME * fewer


_REPLACED = re.compile(r"supersedes “(.+)”$")
_EDITED = re.compile(r"passed after (`[^`]{1,300}`)|(`[^`]{1,300}`) was edited afterwards")


def replaced(facts: Iterable[Fact]) -> Mapping[str, str]:
    """Return by uuid of a decision what it replaced, as the fact about both quotes it."""
    found = (
        (fact.source, _REPLACED.search(fact.text)) for fact in facts if fact.relation == SUPERSEDES
    )
    return {source: match[1] for source, match in found if match is not None}


def fixes(facts: Iterable[Fact]) -> Mapping[str, str]:
    """Return by uuid of an error or a test what fixed it: a file in backticks, or a sentence."""
    found = {}
    for fact in facts:
        if fact.relation == FIXED_BY:
            text = " ".join(fact.text.split())
            edited = _EDITED.search(text)
            found[fact.source] = short_paths((edited[1] or edited[2]) if edited else text)
    return found
