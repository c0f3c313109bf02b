"""The head of a pattern: a short pattern that matches wherever the pattern itself does.

A head starts at the required literal and ends at the first byte of the first long part, such as the
value. It is tried first, because most places of a literal announce no secret: `password` is also a
word.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any

from turnetl.redact.required_literals import items_from_literal, items_with_start
from turnetl.redact.rule import MAX_RUN, SecretRule

_MAX_CHARS = 80
"""Characters of a head, unless its first part alone is longer: a long one takes time to compile."""
_REPEATS = {"MAX_REPEAT": b"", "MIN_REPEAT": b"?", "POSSESSIVE_REPEAT": b""}
_RUNS = (rb"[\x09\x20]", re.escape(b"\\"))
"""What is repeated `MAX_RUN` times at most."""
_ZERO_WIDTH = ("AT", "ASSERT", "ASSERT_NOT")
_CATEGORIES = {
    "CATEGORY_DIGIT": rb"\d",
    "CATEGORY_NOT_DIGIT": rb"\D",
    "CATEGORY_SPACE": rb"\s",
    "CATEGORY_NOT_SPACE": rb"\S",
    "CATEGORY_WORD": rb"\w",
    "CATEGORY_NOT_WORD": rb"\W",
}
_ANY = range(256)

HeadMatch = Callable[[bytes, int], re.Match[bytes] | None]
"""Matches in bytes at an offset."""
_Item = tuple[object, Any]
"""A part of a parsed pattern: its kind, and what it consists of."""


def any_head(rules: Iterable[SecretRule], start: bytes) -> HeadMatch:
    """Return what matches at a literal if one of the rules matches around it.

    Args:
        rules: the rules that have the literal.
        start: first bytes of the literal, in lower case.
    """
    heads = dict.fromkeys(_head(rule.pattern.encode(), start) for rule in rules)
    return re.compile(b"|".join(heads), re.DOTALL).match


def _head(pattern: bytes, start: bytes) -> bytes:
    """Return the source of the head; empty, so that it matches anywhere, if there is no literal."""
    items = items_with_start(items_from_literal(pattern), start)
    head = b""
    for index, item in enumerate(items):
        part = _source(item)
        if head and len(head) + len(part) > _MAX_CHARS:
            return head + _first_byte(items[index:])
        head += part
    return head


def _source(item: _Item) -> bytes:
    """Return the source of a part of a pattern, without what it looks at but does not match.

    Its letters are in lower case, because a pattern may match them in both cases.
    """
    kind, value = str(item[0]), item[1]
    if kind in _ZERO_WIDTH:
        return b""
    if kind in _REPEATS:
        return _repeat_source(value) + _REPEATS[kind]
    match kind:
        case "LITERAL":
            return re.escape(bytes([value]).lower())
        case "BRANCH":
            return b"(?:%s)" % b"|".join(map(_sources, value[1]))
        case "SUBPATTERN" | "ATOMIC_GROUP":
            return b"(?:%s)" % _sources(value[-1] if kind == "SUBPATTERN" else value)
    return _class(_class_bytes(item))


def _sources(items: Iterable[_Item]) -> bytes:
    return b"".join(map(_source, items))


def _repeat_source(repeat: tuple[int, Any, Iterable[_Item]]) -> bytes:
    minimum, maximum, items = repeat
    repeated = _sources(items)
    if str(maximum) != "MAXREPEAT":
        return b"(?:%s){%d,%d}" % (repeated, minimum, maximum)
    upper = b"%d" % MAX_RUN if repeated in _RUNS else b""
    return b"(?:%s){%d,%s}" % (repeated, minimum, upper)


def _first_byte(items: Sequence[_Item]) -> bytes:
    """Return a class of the bytes with which parts start; nothing if they may be empty."""
    first, may_be_empty = _first_bytes(items)
    return b"" if may_be_empty else _class(first)


def _first_bytes(items: Iterable[_Item]) -> tuple[set[int], bool]:
    """Return the bytes with which parts start, and whether they may match nothing."""
    first: set[int] = set()
    for item in items:
        of_item, may_be_empty = _first_bytes_of(item)
        first |= of_item
        if not may_be_empty:
            return first, False
    return first, True


def _first_bytes_of(item: _Item) -> tuple[set[int], bool]:
    kind, value = str(item[0]), item[1]
    if kind in _ZERO_WIDTH:
        return set(), True
    if kind == "BRANCH":
        branches = [*map(_first_bytes, value[1])]
        return set().union(*(first for first, _ in branches)), any(empty for _, empty in branches)
    if kind in ("SUBPATTERN", "ATOMIC_GROUP"):
        return _first_bytes(value[-1] if kind == "SUBPATTERN" else value)
    if kind in _REPEATS:
        first, may_be_empty = _first_bytes(value[2])
        return first, may_be_empty or value[0] == 0
    return _class_bytes(item), False


def _class_bytes(item: _Item) -> set[int]:
    """Return the bytes that a part of one byte matches."""
    kind, value = str(item[0]), item[1]
    if kind == "LITERAL":
        return {value}
    if kind == "NOT_LITERAL":
        return {*_ANY} - {value}
    if kind == "ANY":
        return {*_ANY}
    members = set().union(*map(_member_bytes, value))
    return {*_ANY} - members if str(value[0][0]) == "NEGATE" else members


def _member_bytes(member: _Item) -> Iterable[int]:
    kind, value = str(member[0]), member[1]
    if kind == "RANGE":
        return range(value[0], value[1] + 1)
    if kind == "CATEGORY":
        return _category_bytes(_CATEGORIES[str(value)])
    return () if kind == "NEGATE" else (value,)


@lru_cache(maxsize=8)
def _category_bytes(source: bytes) -> frozenset[int]:
    matches = re.compile(source).match
    return frozenset(byte for byte in _ANY if matches(bytes([byte])))


def _class(members: Iterable[int]) -> bytes:
    """Return the source of a class of bytes, with letters in lower case."""
    lower = sorted({*bytes(members).lower()})
    # As ranges: with 200 bytes one by one, all heads take a third longer to compile.
    return b"[%s]" % b"".join(b"\\x%02x-\\x%02x" % ends for ends in _ranges(lower))


def _ranges(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield first and last of each run of consecutive numbers, which are sorted."""
    for _, run in groupby(enumerate(numbers), key=lambda numbered: numbered[1] - numbered[0]):
        values = [number for _, number in run]
        yield values[0], values[-1]
