"""Finds the names in a decision: what it chooses, and what it rejects or replaces.

Only single names are found, such as `polars` or `EventPayload.APIKey`: a phrase like "the old way"
names nothing that another decision could name again.
"""

import re
from dataclasses import dataclass

from turnetl.extraction.structural import lexicon

_NAME = r"(?:`([^`\s]{2,60})`|([A-Za-z][\w.+#/-]{1,39}))"
_END = (
    r"(?![\w-])(?=\W*$|[ ]?[,.;:!?)(\u2013\u2014]| (?:for|in|when|so|because|since|as|to|and|on"
    r"|at|here|by|with)\b)"
)
_USE = (
    r"\b(?:use|uses|used|using|prefer|keep|adopt|adopted|chose|return|returns|store"
    r"|stores|call|calls|write|run) (?:the |an? )?"
)
_MOVE = (
    r"(?:switch(?:ed|ing)?|migrat(?:e|ed|ing)|mov(?:e|ed|ing)|chang(?:e|ed|ing))"
    r"(?: back| over| away)?"
)
_CHOSEN_FIRST = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_USE}{_NAME} (?:instead of|rather than|over|and not) (?:the )?{_NAME}{_END}",
        rf"^{_NAME} (?:instead of|rather than|over|replaces) (?:the (?:old )?)?{_NAME}{_END}",
        rf"{_NAME} (?:replaces|supersedes) (?:the (?:old |previous )?)?{_NAME}{_END}",
    )
)
_REJECTED_FIRST = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?:replaced?|replacing|swap) (?:the )?{_NAME} (?:with|by|for) (?:the )?{_NAME}{_END}",
        rf"\b{_MOVE} from (?:the )?{_NAME} to (?:the )?{_NAME}{_END}",
        rf"\bchanged? {_NAME} to {_NAME}{_END}",
        rf"\b(?:instead of|rather than) {_NAME},? (?:we |I )?(?:use|prefer) (?:the )?{_NAME}{_END}",
        rf"\bnot (?:use )?{_NAME},? but (?:use )?{_NAME}{_END}",
    )
)
_CHOSEN = re.compile(
    r"\b(?:use|using|go with|going with|stick with|switch(?:ed)? to|settled on|decided on|opted for"
    rf"|adopt|chose|prefer|move to|standardi[sz]e on|keep) (?:the )?{_NAME}{_END}",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]{3,}")
_MIN_NAME = 2


@dataclass(frozen=True, slots=True)
class Choice:
    chosen: str = ""
    rejected: str = ""
    """What the choice replaces; with it there is always a `chosen`."""


def choice(sentence: str) -> Choice:
    """Return the first pair of names in a sentence, else the name that it chooses."""
    for patterns, is_chosen_first in ((_CHOSEN_FIRST, True), (_REJECTED_FIRST, False)):
        for pattern in patterns:
            for match in pattern.finditer(sentence):
                first, second = _names(match)
                if first and second and first.casefold() != second.casefold():
                    return Choice(first, second) if is_chosen_first else Choice(second, first)
    names = (_names(match)[0] for match in _CHOSEN.finditer(sentence))
    return Choice(next(filter(None, names), ""))


def context_words(sentence: str, chosen: Choice) -> frozenset[str]:
    """Return what the decision is about, apart from its names: words of three letters and more."""
    named = {chosen.chosen.casefold(), chosen.rejected.casefold()}
    words = {word.casefold() for word in _WORD.findall(_without_names(sentence, chosen))}
    return frozenset(words - named - lexicon.DECISION_WORDS - lexicon.KEYPHRASE_STOP_WORDS)


def _without_names(sentence: str, chosen: Choice) -> str:
    for name in filter(None, (chosen.chosen, chosen.rejected)):
        sentence = sentence.replace(name, " ")
    return sentence


def _names(match: re.Match[str]) -> list[str]:
    """Return the names of a match, in order; an empty string for a word that is no name."""
    groups = match.groups()
    pairs = zip(groups[::2], groups[1::2], strict=True)
    return [quoted.removesuffix("()") if quoted else _name(word or "") for quoted, word in pairs]


def _name(word: str) -> str:
    """Return an unquoted word if it can be a name: no pronoun, no adjective, no gerund."""
    word = word.rstrip("./-")
    folded = word.casefold()
    is_common = folded in lexicon.KEYPHRASE_STOP_WORDS or folded in lexicon.DECISION_WORDS
    return "" if is_common or folded.endswith("ing") or len(word) < _MIN_NAME else word
