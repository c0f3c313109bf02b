"""Finds the topics of a turn that names no identifier, for turns of chats above all.

A phrase counts if both speakers use it, or if one repeats it: then it is what they talk about. A
proper name counts always.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from turnetl.extraction.structural import lexicon
from turnetl.extraction.structural.prose import clip, plain

_PROMPT_LIMITS = (2000, 500)
_RESPONSE_LIMITS = (4000, 2000)
_TOKEN = re.compile(r"[^\W\d_][\w'-]{0,30}|[^\w\s]|\d+")
_WORD = re.compile(r"[^\W\d_][\w-]{2,30}$")
_PROPER_NAME = re.compile(r"(?<=[\w,] )[A-Z][\w-]{2,30}(?: [A-Z][\w-]{1,30}){0,3}")
_MAX_WORDS = 3
_MIN_SINGLE_WORD = 4
"""Letters of a phrase of one word: shorter words say little alone."""
_NOT_NOUN = ("ed", "ing", "ly")
"""Endings of single words that are rarely nouns."""
_NO_NAMES = lexicon.KEYPHRASE_STOP_WORDS | lexicon.DATE_WORDS
_NO_TOPICS = lexicon.GENERIC_IDENTIFIERS | lexicon.COMMON_PATH_WORDS
"""Words that say nothing alone: `file`, `session`."""


def shared_phrases(prompt: str, response: str, count: int) -> list[str]:
    """Return up to `count` phrases of both texts, the longest first, in lower case."""
    text = f" {' '.join(_tokens(response, _RESPONSE_LIMITS))} "
    phrases = dict.fromkeys(_candidates(_tokens(prompt, _PROMPT_LIMITS)))
    return _longest((phrase for phrase in phrases if f" {phrase} " in text), count)


def repeated_phrases(text: str, count: int) -> list[str]:
    """Return up to `count` phrases that a text repeats, the longest first, in lower case."""
    times = Counter(_candidates(_tokens(text, _RESPONSE_LIMITS)))
    return _longest((phrase for phrase in times if times[phrase] > 1), count)


def proper_names(text: str, count: int) -> list[str]:
    """Return up to `count` capitalised names inside sentences, in order, each once."""
    names = _PROPER_NAME.findall(plain(clip(text, *_RESPONSE_LIMITS)))
    return list(dict.fromkeys(name for name in names if name.lower() not in _NO_NAMES))[:count]


def distinct(phrases: Iterable[str], count: int) -> list[str]:
    """Return the first `count` phrases whose words are not part of an earlier one."""
    chosen: list[str] = []
    for phrase in phrases:
        if len(chosen) == count:
            break
        if not any(f" {phrase.lower()} " in f" {other.lower()} " for other in chosen):
            chosen.append(phrase)
    return chosen


def _tokens(text: str, limits: tuple[int, int]) -> list[str]:
    return [token.lower() for token in _TOKEN.findall(plain(clip(text, *limits)))]


def _longest(phrases: Iterable[str], count: int) -> list[str]:
    """Return the phrases with most words, in order, none part of another."""
    return distinct(sorted(phrases, key=lambda phrase: -phrase.count(" ")), count)


def _candidates(tokens: list[str]) -> Iterator[str]:
    """Yield every sequence of one to three content words that stands in the text."""
    for start in range(len(tokens)):
        for size in range(1, _MAX_WORDS + 1):
            words = tokens[start : start + size]
            if len(words) < size or not _is_content(words[-1]):
                break
            if size > 1 or _is_noun_like(words[0]):
                yield " ".join(words)


def _is_content(token: str) -> bool:
    return bool(_WORD.match(token)) and token not in lexicon.KEYPHRASE_STOP_WORDS


def _is_noun_like(word: str) -> bool:
    is_long = len(word) >= _MIN_SINGLE_WORD
    return is_long and word not in _NO_TOPICS and not word.endswith(_NOT_NOUN)
