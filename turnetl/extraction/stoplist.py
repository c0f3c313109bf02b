"""The stoplist: names that are not entities, such as temporary paths, hashes and run ids.

A node `/tmp/x81`, `3f2a9c1`, `line 42` or `user` connects nothing and is never searched for. The
key of a check is the reason under which discarded names are counted. In doubt a name is kept:
`ed25519`, `404 Not Found`, `#123`, `v2.1` and `2.1` may be meaningful names.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from turnetl.extraction.port import DiscardReason

MAX_NAME_LENGTH = 300
"""Characters of a name. A longer one is a sentence, and no graph index accepts it."""

_CACHED_NAMES = 4_000
"""The names of a project recur."""
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_HEX = re.compile(
    r"^(?:(?:commit|hash|sha|digest|revision|sha1|sha256|sha512|md5)[ :#-]*)?[0-9a-f]{7,128}$"
)
_HASH_RANGE = re.compile(r"^[0-9a-f]{7,40}\.{2,3}[0-9a-f]{7,40}$")
_DIGIT_LETTER, _LETTER_DIGIT = re.compile("[0-9][a-f]"), re.compile("[a-f][0-9]")
_DIGIT = re.compile("[0-9]")
_ARTICLE = re.compile(r"^(?i:the|a|an|this|that|my|your|our|current|some)\s+")
_LONG_HASH = 20
"""Characters from which any hexadecimal string is a hash, mixed or not."""
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?\.?"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?"
_ZONE = r"(?:\s?(?:z|utc|gmt|am|pm|[+-]\d{2}:?\d{2}))?"
_UNIT = (
    r"(?:%|x|k|m|[kmgt]i?b|b|bytes?|chars?|characters?|lines?|tokens?|files?|times?|px|items?|rows?"
    r"|errors?|warnings?|tests?|passed|failed)"
)
_TIME_UNIT = (
    r"(?:ns|[uµ]s|ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|days?|weeks?|months?|years?"
    r"|milliseconds?)"
)

_LEADING = " \t\r\n`'\"\u201c\u2018(*"
_TRAILING = " \t\r\n`'\"\u201d\u2019)*.,;:"

_GENERIC_NAMES = """
user users human someone developer assistant ai agent llm speaker
i me my we us our you your he she it they them this that these those
none null nil true false undefined unknown n/a todo yes no ok okay done
today yesterday tomorrow now
"""
"""Compared without regard to case."""
_GENERIC_NOUNS = """
agents person people customer bot model code system source text content data file files folder
folders directory directories path paths
line lines command commands tool tools function functions method methods class classes variable
variables value values error errors failure failures issue issues problem problems bug bugs fix
fixes change changes test tests output input result results response request message messages
prompt turn conversation session task step thing things something everything nothing item items
example
"""
"""Compared in lower case only: with a capital letter they may name a class."""
_NAMES, _NOUNS = frozenset(_GENERIC_NAMES.split()), frozenset(_GENERIC_NOUNS.split())


@dataclass(frozen=True, slots=True)
class _Name:
    original: str
    lower: str

    @classmethod
    def of(cls, text: str) -> "_Name":
        stripped = text.lstrip(_LEADING).rstrip(_TRAILING)
        original = re.sub(r"\s+", " ", stripped)
        return cls(original, original.lower())


_Check = Callable[[_Name], bool]


def _matches(*patterns: str) -> _Check:
    pattern = re.compile("|".join(f"(?:{pattern})" for pattern in patterns))
    return lambda name: pattern.search(name.lower) is not None


def _is_hash(name: _Name) -> bool:
    if _HASH_RANGE.search(name.lower):
        return True
    return _HEX.search(name.lower) is not None and (
        len(name.lower) >= _LONG_HASH or _looks_random(name.lower)
    )


def _looks_random(name: str) -> bool:
    changes = len(_DIGIT_LETTER.findall(name)) + len(_LETTER_DIGIT.findall(name))
    return changes > 1 and len(_DIGIT.findall(name)) > 1


def _is_generic(name: _Name) -> bool:
    return (
        _ARTICLE.sub("", name.lower, count=1) in _NAMES
        or _ARTICLE.sub("", name.original, count=1) in _NOUNS
    )


CHECKS: Mapping[DiscardReason, _Check] = {
    DiscardReason.TOO_LONG: lambda name: len(name.lower) > MAX_NAME_LENGTH,
    DiscardReason.EMPTY: lambda name: not any(map(str.isalnum, name.lower)),
    DiscardReason.TEMPORARY_PATH: _matches(
        r"^(?:file://)?(?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm|run/user)(?:/|$)",
        r"appdata[\\/]+local[\\/]+temp(?:[\\/]|$)",
        r"^[a-z]:[\\/]+(?:windows[\\/]+)?te?mp(?:[\\/]|$)",
        r"^(?:%te?mp%|\$\{?te?mp(?:dir)?\}?)(?:[\\/]|$)",
        # Python's tempfile: `tmp` and eight letters or digits.
        r"^tmp(?:[a-z_]{7}\d|[a-z0-9_]{0,6}\d[a-z_]\w{0,6})$",
    ),
    DiscardReason.UUID: _matches(_UUID),
    DiscardReason.HASH: _is_hash,
    DiscardReason.PROCESS_ID: _matches(
        r"^(?:p?pid|tid|process(?: id)?|thread(?: id)?)\s*[:=#]?\s*\(?\d+\)?$",
    ),
    DiscardReason.RUN_ID: _matches(
        r"^(?:run|build|job|attempt|iteration|retry|workflow run)(?: id)?\s*[:=#]?\s*\d+$",
        # One way to match each name: a model may write one that takes another expression minutes.
        r"^(?:toolu|msg|req|call|chatcmpl|resp|asst|thread|run)[_-][a-z]*\d[a-z]*\d[a-z0-9]*$",
        r"^(?:run|build|job|session|request|trace|span|task|agent|shell|bash)"
        r"(?:[ _-]?id)?[ :#=_-]+(?:[a-f]*[0-9]+[a-f]+[0-9][0-9a-f]*|\d{5,})$",
    ),
    DiscardReason.LINE_NUMBER: _matches(
        # `L2` is kept: it names a cache or a norm.
        r"^(?:(?:lines?|rows?|col(?:umn)?s?|offset|index)\s*[#:]?\s*\d+|l\s*[#:]?\s*\d{2,})"
        "(?:\\s*(?:-|\u2013|:|,|to|and)\\s*l?\\d+)*(?:\\s+(?:of|in)\\s.*)?$",
    ),
    DiscardReason.PORT: _matches(
        r"^(?:(?:tcp |udp )?port\s*[:#]?\s*|:)\d{2,5}$",
        r"^(?:https?://)?(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\])(?::\d{1,5})?/?$",
    ),
    DiscardReason.DATE: _matches(
        r"^\d{4}[-/]\d{2}(?:[-/]\d{2})?(?:[t ]+" + _CLOCK + _ZONE + ")?$",
        rf"^{_CLOCK}{_ZONE}$",
        r"^\d{1,2}[-/.]\d{1,2}[-/.](?:19|20)\d{2}$",
        rf"^(?:[a-z]{{3,9}}day,? )?{_MONTH}\.? {_DAY}(?:,? \d{{4}})?(?:,? {_CLOCK}{_ZONE})?$",
        rf"^(?:[a-z]{{3,9}}day,? )?{_DAY} {_MONTH}\.?(?:,? \d{{4}})?$",
        rf"^{_MONTH} \d{{4}}$",
        rf"^[~≈<>]?\s?\d+(?:[.,]\d+)?\s?{_TIME_UNIT}$",
        r"^(?:last|next|this|previous) (?:day|night|week|month|year|morning|session|run|turn)$",
    ),
    DiscardReason.NUMBER: _matches(
        rf"^[~≈<>=≤≥+±$€£-]*\s?\d[\d,_' ]*(?:[.,]\d+)?\s?{_UNIT}$",
        r"^[~≈<>=≤≥+±$€£-]*\s?\d[\d,_' ]*$",
        r"^[~≈<>=≤≥+±$€£-]+\s?\d[\d,_' ]*[.,]\d+$",
        r"^\d+\s?(?:/|of)\s?\d+$",
        r"^0x[0-9a-f]+$",
    ),
    DiscardReason.GENERIC_WORD: _is_generic,
}
"""By reason. The first check that matches a name gives its reason."""


def reasons(names: Sequence[str]) -> list[DiscardReason | None]:
    return [_reason(name) for name in names]


@lru_cache(maxsize=_CACHED_NAMES)
def _reason(text: str) -> DiscardReason | None:
    name = _Name.of(text)
    return next((reason for reason, check in CHECKS.items() if check(name)), None)
