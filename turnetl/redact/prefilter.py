"""The prefilter: passes over all texts select the few that need a closer look.

Equal texts are scanned once, and clean texts are remembered: every turn repeats its working
directory, and a forked session the texts of its parent. Known secrets are found in one pass.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain, groupby, islice
from operator import itemgetter
from types import MappingProxyType

import polars as pl

from turnetl.base.batched import batched_by_size
from turnetl.redact.literal_search import (
    ExactMatcher,
    LiteralSearch,
    RequiredLiteral,
    literal_search,
    spans_of_match,
    spans_of_rule,
)
from turnetl.redact.normalised import (
    DISGUISED,
    ENCODED,
    INVISIBLE,
    MAY_BE_ENCODED,
    normalised_texts,
)
from turnetl.redact.pii import SUBJECTS
from turnetl.redact.rule import SecretRule
from turnetl.redact.rules import RULES
from turnetl.redact.scanner import SecretScanner

_DIGESTED = 100
"""Characters from which on a text is remembered by a digest of 128 bits. Most are shorter."""
_REMEMBERED = 50_000
"""Texts that are remembered at least; twice as many take 20 MB if they are ASCII."""

_HALF = (1 << 64) - 1

TextKey = str | int
"""What a text is remembered by: itself, or its digest."""


class CleanTexts:
    """Remembers the last texts that were found clean."""

    def __init__(self, size: int = _REMEMBERED) -> None:
        """Remember no text yet; later at least `size`, at most twice as many."""
        self._size = size
        self._newer: set[TextKey] = set()
        self._older: set[TextKey] = set()

    def unknown(self, texts: Iterable[str]) -> dict[str, TextKey]:
        """Return the distinct texts that are not remembered, in their order, each with its key."""
        newer, older = self._newer, self._older
        keys = {
            text: text if len(text) < _DIGESTED else _digest(text) for text in dict.fromkeys(texts)
        }
        if not newer and not older:
            return keys
        return {text: key for text, key in keys.items() if key not in newer and key not in older}

    def add(self, clean: Mapping[str, TextKey]) -> None:
        """Remember texts, by their keys; of more than the size, the first ones."""
        if len(self._newer) + len(clean) > self._size:
            self._older, self._newer = self._newer, set()
        self._newer.update(islice(clean.values(), self._size))


def _digest(text: str) -> int:
    # SipHash with a key of this process: the first half is known already, from the text as a key.
    # It takes a quarter of the time of SHA-256.
    return hash(text) << 64 | hash(text[1:]) & _HALF


SEPARATOR = b"\n\x1e\n"
"""Separates texts that are scanned as one: no secret contains it."""
_CHUNK_CHARS = 16 << 20
"""Characters scanned at once, unless one text has more."""
_NO_PATTERNS: Mapping[str, Callable[[bytes], bool]] = MappingProxyType({})
_MATCH_BYTES = 8192
"""Bytes after a position on which a pattern is tried. A longer match makes the text a candidate as
well; without the limit, a text of one long run would be read to its end from every position."""


def candidates(
    texts: Sequence[str],
    scanner: SecretScanner,
    rules: Sequence[SecretRule] = RULES,
    patterns: Mapping[str, Callable[[bytes], bool]] = _NO_PATTERNS,
    clean: CleanTexts | None = None,
) -> dict[int, list[SecretRule]]:
    """Return the indexes of the texts that need a closer look, with the rules that match them.

    A text that matches one of `patterns`, which have no literal, is a candidate if the function
    says so. Texts in `clean` are not searched; those found clean are added. A large archive is
    scanned in chunks, because it is in memory five times.
    """
    clean = CleanTexts() if clean is None else clean
    unknown = clean.unknown(texts)
    rules_by_text: dict[str, list[SecretRule]] = {}
    for chunk in batched_by_size([*unknown], map(len, unknown), size=_CHUNK_CHARS):
        rules_by_text |= _candidates_of_chunk(chunk, scanner, tuple(rules), patterns)
    clean.add({text: key for text, key in unknown.items() if text not in rules_by_text})
    if not rules_by_text:
        return {}
    return {
        index: [*rules_by_text[text]] for index, text in enumerate(texts) if text in rules_by_text
    }


def _candidates_of_chunk(
    texts: Sequence[str],
    scanner: SecretScanner,
    rules: tuple[SecretRule, ...],
    patterns: Mapping[str, Callable[[bytes], bool]],
) -> dict[str, list[SecretRule]]:
    column = _column(texts)
    without_literals = literal_search(rules).rules_without_literals
    slow_patterns = [rule.pattern for rule in without_literals if rule.may_be_secret is None]
    exact = [*slow_patterns, *patterns]
    rare = _matching(texts, column, [*exact, MAY_BE_ENCODED])
    encoded = _matching(rare, _column(rare), [ENCODED])
    views = normalised_texts(dict.fromkeys([*encoded, *_with_invisible(texts)]))
    new = [*{*chain.from_iterable(views.values())}.difference(texts)]
    if new:
        texts = [*texts, *new]
        # The last row is the empty text.
        column = column.head(-1).append(_column(new))
    by_pattern = _by_patterns([*rare, *new], exact)
    joined = _JoinedTexts(texts, column)
    found = _by_rules(joined, by_pattern, rules)
    by_patterns = (
        text
        for pattern, is_candidate in patterns.items()
        for text in by_pattern[pattern]
        if is_candidate(_encode(text))
    )
    for text in chain(_by_scanner(joined, scanner), by_patterns):
        found.setdefault(text, [])
    for text, seen in views.items():
        for view in filter(found.__contains__, seen):
            known = found.get(text, [])
            found[text] = [*known, *(rule for rule in found[view] if rule not in known)]
    return {text: found[text] for text in found if text not in new}


_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_THREE_BYTES = "\ufffd"


def _text_column(texts: Sequence[str]) -> pl.Series:
    """Return the texts as a column; a character of three bytes replaces a lone surrogate."""
    try:
        return pl.Series(texts, dtype=pl.String)
    except UnicodeEncodeError:
        replaced = [_LONE_SURROGATE.sub(_THREE_BYTES, text) for text in texts]
        return pl.Series(replaced, dtype=pl.String)


def _column(texts: Sequence[str]) -> pl.Series:
    """Return the texts and an empty one: polars copies the value of a column of one row."""
    return _text_column([*texts, ""])


def _matching(texts: Sequence[str], column: pl.Series, patterns: Sequence[str]) -> list[str]:
    pattern = "|".join(f"(?:{pattern})" for pattern in patterns)
    return [texts[index] for index in column.str.contains(pattern).arg_true()]


def _with_invisible(texts: Sequence[str]) -> list[str]:
    """Return the texts with characters that are not seen; few have any that is not ASCII."""
    other = [text for text in texts if not text.isascii()]
    return _matching(other, _column(other), [INVISIBLE])


def _by_patterns(texts: Sequence[str], patterns: Sequence[str]) -> dict[str, list[str]]:
    columns = [pl.col("text").str.contains(pattern).alias(pattern) for pattern in patterns]
    matches = pl.DataFrame({"text": _text_column(texts)}).select(columns)
    return {
        pattern: [texts[index] for index in matches[pattern].arg_true()] for pattern in patterns
    }


def texts_with_secrets(texts: Sequence[str], secrets: ExactMatcher) -> list[int]:
    joined = _JoinedTexts(texts, _text_column(texts))
    return sorted(
        {index for span in secrets.spans(joined.data) for index in joined.at(span.start, span.end)}
    )


class _JoinedTexts:
    """Texts that are scanned as one."""

    def __init__(self, texts: Sequence[str], column: pl.Series) -> None:
        """Join the texts, with which `column` starts."""
        self.texts = texts
        self.column = column
        self.data = SEPARATOR.join(map(_encode, texts))

    @cached_property
    def _ends(self) -> list[int]:
        """The end of each text, with the separator after it."""
        sizes = self.column.head(len(self.texts)).str.len_bytes().cast(pl.UInt64)
        return (sizes + len(SEPARATOR)).cum_sum().to_list()

    def at(self, start: int, end: int) -> range:
        first = bisect_right(self._ends, start)
        last = bisect_right(self._ends, max(start, end - 1))
        return range(first, min(last, len(self.texts) - 1) + 1)

    def place(self, offset: int) -> tuple[int, int]:
        """Return the index of the text with the byte at an offset, and the offset in the text."""
        index = bisect_right(self._ends, offset)
        return index, offset - (self._ends[index - 1] if index else 0)


def _by_scanner(joined: _JoinedTexts, scanner: SecretScanner) -> Iterator[str]:
    findings = scanner.scan(joined.data)
    indexes = {index for found in findings for index in joined.at(found.start, found.end)}
    for index in indexes:
        yield joined.texts[index]


def _by_rules(
    joined: _JoinedTexts, by_pattern: Mapping[str, list[str]], rules: tuple[SecretRule, ...]
) -> dict[str, list[SecretRule]]:
    """Return the texts that rules match near their literals, each with these rules in order."""
    search = literal_search(rules)
    patterns_by_text: dict[str, set[str]] = {}
    for index, places in _places(joined, search):
        text = joined.texts[index]
        matching = set(_matching_patterns(_encode(text), places))
        if matching:
            patterns_by_text[text] = matching
    for rule in search.rules_without_literals:
        possible = by_pattern.get(rule.pattern) or _by_places(joined, rule)
        for text in filter(partial(_finds_secret, rule), possible):
            patterns_by_text.setdefault(text, set()).add(rule.pattern)
    return {
        text: [rule for rule in rules if rule.pattern in patterns]
        for text, patterns in patterns_by_text.items()
    }


_Place = tuple[int, list[RequiredLiteral]]
"""An offset in a text, and the rules that have a literal there."""


def _places(joined: _JoinedTexts, search: LiteralSearch) -> Iterator[tuple[int, list[_Place]]]:
    """Yield the index of each text that has a head of a rule, and its places."""
    lower = joined.data.lower()
    places = ((*joined.place(at), search.at(lower, at)) for at in search.offsets(lower))
    for index, group in groupby(places, key=itemgetter(0)):
        yield index, [(offset, found) for _, offset, found in group]


def _by_places(joined: _JoinedTexts, rule: SecretRule) -> list[str]:
    if rule.places is None or rule.may_be_secret is None:
        return []
    places: dict[bytes, list[int]] = {}
    for start, end in rule.places(joined.data):
        places.setdefault(joined.data[start:end], []).append(start)
    starts = [
        start
        for match, found in places.items()
        if rule.may_be_secret(match.decode())
        for start in found
    ]
    return [joined.texts[index] for index in sorted({joined.place(start)[0] for start in starts})]


def _finds_secret(rule: SecretRule, text: str) -> bool:
    data = _encode(text)
    return any(spans_of_rule(rule, data, lambda rule, start: rule.compiled.search(data, start)))


def _matching_patterns(data: bytes, places: Iterable[_Place]) -> Iterator[str]:
    matched: set[SecretRule] = set()
    for offset, found in places:
        end = offset + _MATCH_BYTES
        for rule, max_offset in found:
            # Most patterns match nothing, and none of these is worth a call.
            if rule in matched or (
                not max_offset and rule.compiled.match(data, offset, end) is None
            ):
                continue
            if _matches(rule, max_offset, data, offset):
                matched.add(rule)
                yield rule.pattern


def _matches(rule: SecretRule, max_offset: int, data: bytes, offset: int) -> bool:
    end = offset + _MATCH_BYTES
    for start in range(offset, max(offset - max_offset, 0) - 1, -1):
        match = rule.compiled.match(data, start, end)
        # What is beyond the limit may change the value.
        if match is not None and (
            rule.is_preceded(data, start)
            if end < len(data)
            else any(True for _ in spans_of_match(rule, data, match))
        ):
            return True
    return False


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def pii_candidates(texts: Sequence[str]) -> dict[int, list[SecretRule]]:
    """Return the indexes of the texts that may hold PII, each with the rules to try."""
    distinct = [*dict.fromkeys(texts)]
    column = _column(distinct)
    views = normalised_texts(_matching(distinct, column, [DISGUISED]))
    rules = _pii_rules(distinct, column)
    every_view = [*dict.fromkeys(chain.from_iterable(views.values()))]
    in_views = _pii_rules(every_view, _column(every_view))
    for text, seen in views.items():
        for view in seen:
            known = rules.setdefault(text, [])
            known += [rule for rule in in_views.get(view, ()) if rule not in known]
    return {index: [*rules[text]] for index, text in enumerate(texts) if rules.get(text)}


def _pii_rules(texts: Sequence[str], column: pl.Series) -> dict[str, list[SecretRule]]:
    """Return the rules to try on each text: one pass selects texts, then one for each subject."""
    patterns = [subject.prefilter for subject in SUBJECTS]
    found = _by_patterns(_matching(texts, column, patterns), patterns)
    rules: dict[str, list[SecretRule]] = {}
    for subject in SUBJECTS:
        for text in found[subject.prefilter]:
            rules.setdefault(text, []).extend(subject.rules)
    return rules
