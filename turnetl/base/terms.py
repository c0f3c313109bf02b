"""Texts to terms: words, parts of identifiers, and stems.

An identifier is a term as a whole and by its parts: `EnsureEntireGitignore` is also `ensure`,
`entire` and `gitignore`. The whole has no separators, so that "re-run" matches "rerun". English
endings are stemmed lightly, so that "failing" matches "failed"; British spellings and common
abbreviations are one term with what they stand for. Text in a script without spaces is split into
pairs of characters.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+(?:[._/\\-]+[^\W_]+)*")
_SEPARATOR = re.compile(r"[._/\\-]+")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")
_ACRONYM_PLURAL = re.compile(r"(?<=[A-Z]{2})s(?![a-z])")
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")
_REMEMBERED = 1 << 15
"""Words whose terms are kept: most words of a text occurred before."""
_MAX_WORD_CHARS = 200
"""A longer word is data, not language."""

_ENDINGS = (
    ("sses", "ss"),
    ("ies", "y"),
    ("edly", ""),
    ("ing", ""),
    ("ed", ""),
    ("ly", ""),
    ("es", "e"),
    ("s", ""),
)
_NO_PLURAL = ("ss", "us", "is")
_MIN_STEM_CHARS = 3
_KEPT_DOUBLES = "lsz"

_SPELLING_LIST = """
behavior behaviour, color colour, favor favour, favorite favourite, flavor flavour, honor honour
humor humour, labor labour, neighbor neighbour, harbor harbour, rumor rumour, center centre
fiber fibre, meter metre, theater theatre, catalog catalogue, dialog dialogue, analog analogue
license licence, defense defence, offense offence, program programme, gray grey
artifact artefact, judgment judgement, acknowledgment acknowledgement, analyze analysis
cancel cancelled, label labelled, model modelled, signal signalled, travel travelled
tunnel tunnelled, channel channelled, fulfil fulfill, enrol enroll
repo repository, config configuration, env environment, db database, doc documentation
dep dependency, perf performance, impl implementation, param parameter, arg argument
dir directory, cmd command cmds, msg messag msgs, err error errs
"""
_STOP_WORD_LIST = """
a an and are as at be been but by can could did do does for from had has have how i if in into is it
its just me my no not of on or our out please should so than that the their them then there these
they this those to up us was we what when where which who why will with would you your
"""
_STOP_WORDS = frozenset(_STOP_WORD_LIST.split())


class Tokenizer:
    """Texts to terms."""

    def count(self, text: str) -> Counter[str]:
        counts: Counter[str] = Counter()
        for word, times in Counter(_WORD.findall(text)).items():
            for term in _terms(word):
                counts[term] += times
        return counts

    def occurring(self, text: str, terms: Collection[str]) -> set[str]:
        """Return which of these terms occur in the text. Reads it faster than `count`."""
        has_beginning = _beginnings(frozenset(terms)).search
        found: set[str] = set()
        for word in set(_WORD.findall(text)):
            lower = _SEPARATOR.sub("", word.lower())
            if not word.isascii() or has_beginning(lower):
                found.update(_terms(word))
        return found.intersection(terms)

    def joined(self, text: str) -> str:
        """Return the terms of the text in their order, separated by spaces."""
        return " ".join(term for word in _WORD.findall(text) for term in _terms(word))


def may_occur(text: str, terms: frozenset[str]) -> bool:
    """Return whether one of these terms may occur in the text; False if none does."""
    lower = _SEPARATOR.sub("", text.lower())
    return not text.isascii() or _beginnings(terms).search(lower) is not None


@lru_cache
def _beginnings(terms: frozenset[str]) -> re.Pattern[str]:
    """Return a pattern of which each ASCII word in lower case with one of the terms has a part.

    A term of such a word is the beginning of the word, but for its last character, or that of
    another spelling.
    """
    spelled = (other for other, term in _SPELLINGS.items() if term in terms)
    beginnings = sorted({term[:-1] for term in (*terms, *spelled)})
    return re.compile("|".join(map(re.escape, beginnings)) if beginnings else "(?!)")


def content_words(text: str) -> str:
    """Return the words of the text without the most common ones, separated by spaces."""
    return " ".join(word for word in _WORD.findall(text) if word.lower() not in _STOP_WORDS)


@lru_cache(_REMEMBERED)
def _terms(word: str) -> tuple[str, ...]:
    if len(word) > _MAX_WORD_CHARS:
        return ()
    word = _ACRONYM_PLURAL.sub("", word)
    parts = [part for piece in _SEPARATOR.split(word) for part in _PART.findall(piece)]
    folded = [fold(part) for part in parts]
    terms = [_stem(part) for part in folded if part not in _STOP_WORDS]
    identifier = _stem(fold(_SEPARATOR.sub("", word)))
    if len(parts) > 1 and identifier not in terms:
        terms.append(identifier)
    return tuple(term for part in terms for term in _split_unspaced(part) if term)


def fold(word: str) -> str:
    """Return the word in lower case and without accents."""
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def _split_unspaced(term: str) -> list[str]:
    if len(term) <= 2 or not _UNSPACED.search(term):  # noqa: PLR2004  a pair is a pair
        return [term]
    return [term[start : start + 2] for start in range(len(term) - 1)]


def _stem(word: str) -> str:
    """Return the stem of a word, in the spelling that the index has."""
    stem = _spell(_without_ending(word))
    return _SPELLINGS.get(stem, stem)


def _without_ending(word: str) -> str:
    if not word.isascii():
        return word
    for ending, replacement in _ENDINGS:
        if word.endswith(ending):
            stem = word.removesuffix(ending) + replacement
            if _is_stem(word, ending, stem):
                return _normalize_stem(stem)
    return _normalize_stem(word)


_BRITISH = re.compile(r"(?<=[a-z]{3})(?:is|iz)(?:ation)?$|(?<=[a-z]l)ys$")


def _spell(stem: str) -> str:
    """Return the stem in one spelling: "normalis" and "normalization" are "normaliz"."""
    if ending := _BRITISH.search(stem):
        return stem[: ending.start()] + ("yz" if ending[0] == "ys" else "iz")
    return stem


def _is_stem(word: str, ending: str, stem: str) -> bool:
    if ending == "s" and word.endswith(_NO_PLURAL):
        return False
    return len(stem) >= _MIN_STEM_CHARS and any(vowel in stem for vowel in "aeiouy")


def _normalize_stem(stem: str) -> str:
    """Map "stopp" and "stop", "cache" and "cach", "move" and "mov" to one stem."""
    if len(stem) > _MIN_STEM_CHARS + 1 and stem[-1] == stem[-2]:
        stem = stem if stem[-1] in _KEPT_DOUBLES else stem[:-1]
    return stem[:-1] if len(stem) > _MIN_STEM_CHARS and stem.endswith("e") else stem


_SPELLINGS: Mapping[str, str] = {
    _spell(_without_ending(other)): _spell(_without_ending(words[0]))
    for entry in _SPELLING_LIST.replace("\n", ",").split(",")
    if (words := entry.split())
    for other in words[1:]
}
"""Stems that are another spelling of a stem."""
