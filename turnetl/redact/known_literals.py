"""The required literals of turnetl's own rules: every match starts with one of a few texts.

They are derived from the pattern. To derive all takes as long as to parse 8 MB, so a file has a
line for each pattern: its digest, the bytes before the literal, and the literals as JSON.

    python -m turnetl.redact.known_literals > turnetl/redact/known_literals.tsv
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from re import _parser  # type: ignore[attr-defined]  # nothing else parses a pattern
from typing import Any

import msgspec

from turnetl.base import ids
from turnetl.redact.rule import SecretRule

_MIN_BYTES = 3
"""Bytes that a literal needs to be rare; one less if it has other characters than letters."""
_LENGTHS = (6, 5, 4, 3)
"""Bytes after which a literal with several continuations may end: the first that gives few."""
_MAX_BYTES = 12
"""Bytes after which a literal with a single continuation ends."""
_MAX_LITERALS = 160
_MAX_OFFSET = 64
"""Bytes of a match that may precede the literal."""
_MAX_CLASS_SIZE = 8
"""Characters of a class that are expanded one by one."""

_Prefixes = set[tuple[bytes, bool]]
"""Prefixes of the matches of a part in lower case, each with whether it is the whole match."""
_EMPTY_MATCH: _Prefixes = {(b"", True)}
_ANYTHING: _Prefixes = {(b"", False)}
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")


@dataclass(frozen=True, slots=True)
class RequiredLiterals:
    """Texts of which every match of a pattern holds one, near its start."""

    literals: frozenset[str]
    """ASCII letters are in lower case and match in both cases."""
    max_offset: int
    """Maximum number of bytes of the match that precede the literal."""


def required_literals(pattern: bytes) -> RequiredLiterals | None:
    """Return the required literals of a pattern; None if there is nothing to search for.

    An optional repeat at its start is ignored: a match without it starts a little later.
    """
    items = list(_flatten(_parser.parse(pattern)))
    max_offset = 0
    for index, item in enumerate(items):
        literals = _literals(items[index:], is_first=index == 0)
        if literals is not None:
            return RequiredLiterals(literals, max_offset)
        width = _parser.SubPattern(_parser.State(), [item]).getwidth()[1]
        max_offset += int(width)
        if max_offset > _MAX_OFFSET:
            break
    return None


def _flatten(items: Any) -> Iterator[Any]:
    """Yield the parts of a sequence, with the parts of groups in the place of the groups."""
    for item in items:
        if item[0] is _parser.SUBPATTERN:
            yield from _flatten(item[1][-1])
        else:
            yield item


def _literals(items: Sequence[Any], *, is_first: bool) -> frozenset[str] | None:
    """Return the literals at the start of a sequence, if all are rare and not too many."""
    for length in _LENGTHS:
        prefixes = _prefixes(_without_optional_repeat(items) if is_first else items, length)
        literals = frozenset(_whole_characters(prefix) for prefix, _ in prefixes)
        if len(literals) <= _MAX_LITERALS and all(map(_is_rare, literals)):
            return literals
    return None


def _is_rare(text: str) -> bool:
    return len(text.encode()) >= _MIN_BYTES - (text.isascii() and not text.isalpha())


def _without_optional_repeat(items: Sequence[Any]) -> Sequence[Any]:
    """Return a pattern without an optional repeat at its start or at the start of its branches."""
    if not items:
        return items
    kind, value = items[0]
    if str(kind) in _REPEATS and value[0] == 0:
        return items[1:]
    if str(kind) == "BRANCH":
        branches = [list(_without_optional_repeat(list(_flatten(branch)))) for branch in value[1]]
        return [(kind, (None, branches)), *items[1:]]
    return items


def _prefixes(items: Sequence[Any], length: int) -> _Prefixes:
    """Return the prefixes of a sequence, each just long enough."""
    growing, finished = {b""}, set[bytes]()
    for item in items:
        options = _item_prefixes(item, length)
        if len(options) > 1:
            finished |= {text for text in growing if len(text) >= length}
            growing -= finished
        longer = {(head + text, complete) for head in growing for text, complete in options}
        growing = {text for text, complete in longer if complete and len(text) < _MAX_BYTES}
        finished |= {text for text, complete in longer if not complete or len(text) >= _MAX_BYTES}
        if not growing or len(growing) + len(finished) > _MAX_LITERALS:
            return {(text, False) for text in finished | growing}
    return {(text, False) for text in finished} | {(text, True) for text in growing}


def _item_prefixes(item: tuple[object, Any], length: int) -> _Prefixes:
    kind, value = item
    if kind is _parser.LITERAL:
        return {(bytes([value]).lower(), True)}
    match str(kind):
        case "IN":
            return _class_prefixes(value)
        case "BRANCH":
            branches = (_prefixes(list(_flatten(branch)), length) for branch in value[1])
            return set().union(*branches)
        case "ATOMIC_GROUP":
            return _prefixes(list(_flatten(value)), length)
        case "AT" | "ASSERT_NOT":
            return _EMPTY_MATCH
    # A look-ahead ends a literal: what follows a short name would multiply the literals.
    return _repeat_prefixes(value, length) if str(kind) in _REPEATS else _ANYTHING


def _class_prefixes(characters: Any) -> _Prefixes:
    if len(characters) > _MAX_CLASS_SIZE or any(str(kind) != "LITERAL" for kind, _ in characters):
        return _ANYTHING
    return {(bytes([value]).lower(), True) for _, value in characters}


def _repeat_prefixes(repeat: tuple[int, int, Any], length: int) -> _Prefixes:
    minimum, maximum, item = repeat
    once = _prefixes(list(_flatten(item)), length)
    if maximum != 1:
        once = {(text, False) for text, _ in once}
    return once if minimum else once | _EMPTY_MATCH


def _whole_characters(text: bytes) -> str:
    """Return the text up to the place where a character is incomplete."""
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        return text[: error.start].decode()


_FILE = "known_literals.tsv"


def literals_of(rule: SecretRule) -> RequiredLiterals | None:
    known = _known().get(_key(rule))
    if known is None:
        return required_literals(rule.pattern.encode())
    offset, literals = known.split("\t")
    found = msgspec.json.decode(literals, type=frozenset[str])
    return RequiredLiterals(found, int(offset)) if found else None


def lines(rules: Sequence[SecretRule]) -> Iterator[str]:
    for key, pattern in sorted({_key(rule): rule.pattern for rule in rules}.items()):
        found = required_literals(pattern.encode())
        literals = sorted(found.literals) if found is not None else []
        offset = found.max_offset if found is not None else 0
        yield f"{key}\t{offset}\t{msgspec.json.encode(literals).decode()}"


@cache
def _known() -> Mapping[str, str]:
    text = files("turnetl.redact").joinpath(_FILE).read_text("utf-8")
    return dict(line.split("\t", 1) for line in text.splitlines())


def _key(rule: SecretRule) -> str:
    return ids.digest(rule.pattern)[:16]


if __name__ == "__main__":
    from turnetl.redact.pii import PII_RULES
    from turnetl.redact.rules import RULES

    sys.stdout.write("".join(f"{line}\n" for line in lines([*RULES, *PII_RULES])))
