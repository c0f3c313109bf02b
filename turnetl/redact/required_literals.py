"""What a pattern cannot match without: every match begins with one of a few texts.

They are taken out of the pattern itself, so that whoever writes a rule need not say it twice.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from re import _parser  # type: ignore[attr-defined]  # nothing else takes a pattern apart
from typing import Any

SIGHT = 2
"""Bytes of a text by which it is looked up."""
_RARE = 3
"""Bytes that a text needs to be worth a search; one less if it is more than letters."""
_LENGTHS = (4, 3)
"""Bytes after which a text is long enough where it could go on in several ways: less if there would
be too many otherwise."""
_LONG = 8
"""Bytes after which it is long enough where it goes on in one way."""
_MOST = 96
"""Texts that a pattern may begin with."""
_FARTHEST = 64
"""Bytes that may stand before them in a match."""
_FEW = 8
"""Signs of a class that are tried one by one."""

_Begun = set[tuple[bytes, bool]]
"""How something can begin, in small letters, and whether that is the whole of it."""
_NOTHING: _Begun = {(b"", True)}
_ANYTHING: _Begun = {(b"", False)}
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")


@dataclass(frozen=True, slots=True)
class Needs:
    """What stands in a match, and how far from its beginning."""

    texts: frozenset[str]
    """One of these, in any case: of ASCII's letters those are small here."""
    reach: int
    """Bytes that may stand before it."""


@lru_cache(maxsize=256)
def needs(pattern: bytes) -> Needs | None:
    """Return what a text needs in which a pattern matches; None if that is nothing to search for.

    A repeat that a pattern begins with and that may be left out is left out: what matches with it
    matches without it, a little later.
    """
    items = list(_flat(_parser.parse(pattern)))
    reach = 0
    for at, item in enumerate(items):
        texts = _texts(items[at:], is_first=at == 0)
        if texts is not None:
            return Needs(texts, reach)
        reach += _widest(item)
        if reach > _FARTHEST:
            break
    return None


def _flat(items: Any) -> Iterator[Any]:
    """Yield the parts of a sequence, those of groups in the place of groups."""
    for item in items:
        if str(item[0]) == "SUBPATTERN":
            yield from _flat(item[1][-1])
        else:
            yield item


def _widest(item: Any) -> int:
    return int(_parser.SubPattern(_parser.State(), [item]).getwidth()[1])


def _texts(items: Sequence[Any], *, is_first: bool) -> frozenset[str] | None:
    """Return the texts that a sequence begins with, if all are long enough and not too many."""
    for length in _LENGTHS:
        begun = _begun(_without_repeat(items) if is_first else items, length)
        found = {_whole_characters(text) for text, _ in begun}
        if len(found) <= _MOST and all(map(_is_rare, found)):
            return frozenset(found)
    return None


def _is_rare(text: str) -> bool:
    return len(text.encode()) >= _RARE - (text.isascii() and not text.isalpha())


def _without_repeat(items: Sequence[Any]) -> Sequence[Any]:
    """Return a pattern without a repeat at its beginning, or at that of its options."""
    if not items:
        return items
    kind, value = items[0]
    if str(kind) in _REPEATS and value[0] == 0:
        return items[1:]
    if str(kind) == "BRANCH":
        options = [list(_without_repeat(list(_flat(option)))) for option in value[1]]
        return [(kind, (None, options)), *items[1:]]
    return items


def _begun(items: Sequence[Any], length: int) -> _Begun:
    """Return how a sequence can begin, each just long enough."""
    going, ended = {b""}, set[bytes]()
    for item in items:
        options = _of(item, length)
        if len(options) > 1:
            ended |= {text for text in going if len(text) >= length}
            going -= ended
        longer = {(head + text, whole) for head in going for text, whole in options}
        going = {text for text, whole in longer if whole and len(text) < _LONG}
        ended |= {text for text, whole in longer if not whole or len(text) >= _LONG}
        if not going or len(going) + len(ended) > _MOST:
            return {(text, False) for text in ended | going}
    return {(text, False) for text in ended} | {(text, True) for text in going}


def _of(item: tuple[object, Any], length: int) -> _Begun:
    """Return how one part of a pattern can begin."""
    kind, value = item
    match str(kind):
        case "LITERAL":
            return {(bytes([value]).lower(), True)}
        case "IN":
            return _of_class(value)
        case "BRANCH":
            return set().union(*(_begun(list(_flat(option)), length) for option in value[1]))
        case "ATOMIC_GROUP":
            return _begun(list(_flat(value)), length)
        case "AT" | "ASSERT" | "ASSERT_NOT":
            return _NOTHING
    return _of_repeat(value, length) if str(kind) in _REPEATS else _ANYTHING


def _of_class(signs: Any) -> _Begun:
    if len(signs) > _FEW or any(str(kind) != "LITERAL" for kind, _ in signs):
        return _ANYTHING
    return {(bytes([value]).lower(), True) for _, value in signs}


def _of_repeat(repeat: tuple[int, int, Any], length: int) -> _Begun:
    least, most, item = repeat
    once = _begun(list(_flat(item)), length)
    if most != 1:
        once = {(text, False) for text, _ in once}
    return once if least else once | _NOTHING


def _whole_characters(text: bytes) -> str:
    """Return the text up to where a character is cut in two."""
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        return text[: error.start].decode()
