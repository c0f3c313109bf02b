"""Passwords in a list or a mapping below a name, and lines with a user and a password."""

import re
from collections.abc import Iterator

_MAX_ITEMS = 40
_BREAK = rb"(?:\r?\n|\\+n)"
_VALUE = (
    rb"(?:\\*\"([^\"\\\r\n]{3,128}+)\\*\"|\\*'([^'\\\r\n]{3,128}+)\\*'"
    rb"|([^ \t\r\n\"'\\,{}\[\]()#$&*!|>][^\r\n\"'\\,{}\[\]()#:]{2,127}?)(?=[ \t]*(?:[,\]}\r\n#]"
    rb"|\\+n|\Z)))"
)
_KEY = rb"\\*[\"']?([A-Za-z0-9_.@-]{1,60}+)\\*[\"']?[ \t]*(?::|=>|=)[ \t]*"
_POLICY = re.compile(
    rb"(?i)(?:^|[ \t\n_.\"'-])(?:min|max|len|requir|expir|polic|rotat|histor|allow|enabl|age"
    rb"|type|length|file"
    rb"|path|hash|name|source|ref|format|label|description|default|user|login|e?mail|host"
    rb"|port|url|id\b|region|client|account)"
)
"""Keys that say something about all passwords."""
_QUOTED_ITEM = re.compile(rb"[ \t\r\n,]*+(?:\\+n[ \t]*+)?(?:" + _KEY + rb")?" + _VALUE)
_LINE_ITEM = re.compile(
    rb"[ \t]*+(?:-[ \t]++(?:"
    + _KEY
    + rb")?|"
    + _KEY
    + rb")"
    + _VALUE
    + rb"[^\r\n\\]{0,60}?(?:"
    + _BREAK
    + rb"|\Z)"
)
_PAIR_LINE = re.compile(
    rb"[ \t]*+(?:-[ \t]++)?\\*[\"']?[A-Za-z0-9_.@-]{1,60}+:([^ \t\r\n:\"'\\][^ \t\r\n\"'\\]{2,127})"
    rb"\\*[\"']?[ \t]*(?:" + _BREAK + rb"|\Z)"
)
_OTHER_LINE = re.compile(
    rb"[ \t]*+(?:-[ \t]++)?[A-Za-z_]{1,20}:[ \t]*[|>a-z]{0,6}-?[ \t]*" + _BREAK
)
"""A line of settings between the name and the pairs: `list: |`, `expire: false`."""


def items(data: bytes, match: re.Match[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the values of the list or the mapping that a match opens.

    Args:
        data: one text.
        match: the name, and a bracket or the end of the line.
    """
    is_open = data[match.end() - 1 : match.end()] in b"[{("
    pattern = _QUOTED_ITEM if is_open else _LINE_ITEM
    end = match.end()
    for _ in range(_MAX_ITEMS):
        item = pattern.match(data, end)
        if item is None:
            return
        start, end = item.span(item.lastindex or 0)
        if _POLICY.search(data, item.start(), start):
            return
        yield start, end
        end = item.end()


def pairs(data: bytes, match: re.Match[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the passwords of the lines `user:password` below a match.

    Args:
        data: one text.
        match: the name of the list, up to the end of its line.
    """
    end = match.end()
    for _ in range(_MAX_ITEMS):
        pair = _PAIR_LINE.match(data, end)
        other = _OTHER_LINE.match(data, end) if pair is None else None
        if pair is not None:
            yield pair.span(1)
        elif other is None:
            return
        end = (pair or other).end()  # type: ignore[union-attr]  # one of them matched
