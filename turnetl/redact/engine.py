"""The engine of the redactor, imported with the first text.

Secrets are found by the native scanner and by `RULES`. A finding must hold in its own text: no text
can make a part of another text a secret. Some secrets are split in two, because the content blocks
of a text were joined by newlines: the text around a split is scanned without its newlines, and a
secret that spans the split is redacted.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, islice
from typing import NamedTuple

from turnetl.redact import plausible
from turnetl.redact.literal_search import ExactMatcher, RuleMatcher, literal_search, spans_of_rule
from turnetl.redact.normalised import undisguised, views
from turnetl.redact.pii import PII_RULE_NAMES
from turnetl.redact.pii.subject import NAME_RULES, is_certain_name, names_alone
from turnetl.redact.port import RedactedTexts, placeholder
from turnetl.redact.prefilter import (
    SEPARATOR,
    CleanTexts,
    candidates,
    pii_candidates,
    texts_with_secrets,
)
from turnetl.redact.rule import SecretRule
from turnetl.redact.scanner import SecretScanner
from turnetl.redact.spans import Span, is_issued, merge_spans, without_heads

_MAX_PASSES = 8
"""Passes over one text, usually two: a redaction can expose a match that it hid before."""
_MIN_KNOWN_CHARS = 8
"""Characters of a secret that is redacted in all texts: `admin1` is a name in the next one."""


class _RedactedText(NamedTuple):
    text: str
    redactions: int
    secrets: Mapping[bytes, str]


class RedactionEngine:
    def __init__(self, rules: Sequence[SecretRule], key: bytes, *, pii: bool) -> None:
        """Load no rule of the scanner yet; `pii`: the rules include those for personal data."""
        self._rules = rules
        self._key = key
        self._pii = pii
        self._scanner = SecretScanner()
        self._clean = CleanTexts()

    def redact_many(self, archives: Sequence[list[str]]) -> list[RedactedTexts]:
        rules_by_position = self._candidates([*chain.from_iterable(archives)])
        starts = list(accumulate(map(len, archives), initial=0))
        by_archive: list[dict[int, list[SecretRule]]] = [{} for _ in archives]
        for index, rules in rules_by_position.items():
            archive = bisect_right(starts, index) - 1
            by_archive[archive][index - starts[archive]] = rules
        cache: dict[str, _RedactedText] = {}
        return [
            self._redact_archive(texts, rules_by_index, cache)
            if rules_by_index
            else RedactedTexts(texts, [0] * len(texts))
            for texts, rules_by_index in zip(archives, by_archive, strict=True)
        ]

    def _redact_archive(
        self,
        texts: list[str],
        rules_by_index: Mapping[int, Iterable[SecretRule]],
        cache: dict[str, _RedactedText],
    ) -> RedactedTexts:
        """Redact the candidates, equal ones once, and the same secrets in all other texts."""
        redacted = RedactedTexts([*texts], [0] * len(texts))
        secrets: dict[bytes, str] = {}
        for index, rules in rules_by_index.items():
            text = texts[index]
            if text not in cache:
                cache[text] = self._redact_text(text, rules)
            redacted.texts[index], redacted.counts[index], text_secrets = cache[text]
            secrets |= text_secrets
        self._redact_known(redacted, secrets)
        return redacted

    def _candidates(self, texts: list[str]) -> dict[int, list[SecretRule]]:
        patterns = {SPLIT_PATTERN: has_split}
        rules_by_index = candidates(texts, self._scanner, patterns=patterns, clean=self._clean)
        for index, rules in pii_candidates(texts).items() if self._pii else ():
            rules_by_index.setdefault(index, []).extend(rules)
        return rules_by_index

    def _redact_text(self, text: str, rules: Iterable[SecretRule]) -> _RedactedText:
        """Redact until nothing is found; `rules` are for the first pass, later passes use all."""
        data = text.encode("utf-8", "surrogatepass")
        total = 0
        secrets: dict[bytes, str] = {}
        for _ in range(_MAX_PASSES):
            spans = merge_spans(data, self._all_spans(data, rules))
            if not spans:
                break
            total += len(spans)
            for start, end, rule in spans:
                if rule not in PII_RULE_NAMES or rule in NAME_RULES:
                    secrets |= dict.fromkeys({data[start:end], undisguised(data[start:end])}, rule)
            data, rules = self._replace(data, spans), self._rules
        redacted = data.decode("utf-8", "surrogatepass") if total else text
        return _RedactedText(redacted, total, secrets)

    def _redact_known(self, redacted: RedactedTexts, secrets: Mapping[bytes, str]) -> None:
        certain = {secret: rule for secret, rule in secrets.items() if _is_certain(secret, rule)}
        if not certain:
            return
        matcher = ExactMatcher(certain)
        for index in texts_with_secrets(redacted.texts, matcher):
            data = redacted.texts[index].encode("utf-8", "surrogatepass")
            spans = merge_spans(data, names_alone(data, matcher.spans(data)))
            if not spans:
                continue
            text = self._replace(data, spans).decode("utf-8", "surrogatepass")
            rest = self._redact_text(text, self._rules)
            redacted.texts[index] = rest.text
            redacted.counts[index] += len(spans) + rest.redactions

    def _all_spans(self, data: bytes, rules: Iterable[SecretRule]) -> Iterator[Span]:
        """Yield the secrets in the text, those that are split, and those that its reader sees."""
        spans = [*self._spans(data, rules), *split_secret_spans(data, self._rules, self._spans)]
        heads: dict[int, tuple[int, str]] = {}
        for view in views(data):
            for span in self._spans(view.data, rules):
                spans.append(view.to_original(span))
                head = view.head(span.start)
                start = spans[-1].start
                if head < start and (start not in heads or is_issued(span.rule)):
                    heads[start] = head, span.rule
        yield from without_heads(data, spans, heads)

    def _spans(self, data: bytes, rules: Iterable[SecretRule]) -> Iterator[Span]:
        yield from self._scanner_spans(data)
        matcher = RuleMatcher(data, rules, literal_search(tuple(self._rules)))
        for rule in matcher.rules:
            yield from spans_of_rule(rule, data, matcher.first)

    def _scanner_spans(self, data: bytes) -> Iterator[Span]:
        misplaced = {}
        for finding in self._scanner.scan(data):
            rule = _short_name(finding.rule)
            is_half = finding.is_partial and not _SECRET_PART.search(rule)
            if is_half or finding.secret in _METAVARIABLES:
                continue
            if finding.is_base64 or data[finding.start : finding.end] == finding.secret:
                yield Span(finding.start, finding.end, rule)
            else:
                misplaced[finding.secret] = rule
        if misplaced:
            yield from ExactMatcher(misplaced).spans(data)

    def _replace(self, data: bytes, spans: list[Span]) -> bytes:
        pieces, position = [], 0
        for start, end, rule in spans:
            mark = placeholder(rule, undisguised(data[start:end]), self._key).encode()
            pieces += [data[position:start], mark]
            position = end
        return b"".join([*pieces, data[position:]])


_METAVARIABLES = (b"PASSWORD", b"PASSWD", b"PASS", b"SECRET", b"TOKEN")
"""What an address in a manual has in the place of a password."""
# Scanner rules for one half of a pair, which the scanner does not report by default. Of these, only
# the secret half is redacted.
_SECRET_PART = re.compile(r"secret|passphrase|token$|api-key|consumer-key|application-key")


def _short_name(rule_id: str) -> str:
    """Return `github-pat` for `betterleaks.github-pat`, with letters, digits and dashes only."""
    name = re.sub(r"^(?:betterleaks|veles|kingfisher)[./]", "", rule_id)
    name = re.sub(r"^secrets/|\.\d+$", "", name).lower()
    return re.sub(r"[^a-z0-9]+", "-", name).strip("-") or "secret"


def _is_certain(secret: bytes, rule: str) -> bool:
    """Return whether the value is a secret in every text, and not also an ordinary word."""
    text = secret.decode("utf-8", "replace")
    if rule in NAME_RULES:
        return is_certain_name(text)
    return (
        len(text) >= _MIN_KNOWN_CHARS
        and not text.split()[1:]
        and plausible.is_unquoted_password(text)
    )


_CHAR = r"[A-Za-z0-9_+/=-]"
_MIN_HALF = 8
"""Characters of a token on either side: fewer reveal nothing."""
# The pattern starts with the newline: one that starts with a look-behind is tried at each position.
_SPLIT = re.compile(rf"\n(?<={_CHAR}{{{_MIN_HALF}}}\n)\n?(?={_CHAR}{{{_MIN_HALF}}})".encode())
SPLIT_PATTERN = rf"{_CHAR}{{4}}\n\n?{_CHAR}{{{_MIN_HALF}}}"
"""Matches every text with a split, and a few more: it is half as fast with the whole first half."""
_BEFORE, _AFTER = 120, 240
"""Bytes of context: the keyword of a secret is near it, and few tokens are longer."""
_MAX_SPLITS = 5_000
"""Splits of one text: one with more is a list and not joined blocks."""
_WRAPPED_LINE = 40
"""Characters of a line. Two such lines of equal length are entries of a list, or wrapped base64."""
_HALF = re.compile(rf"{_CHAR}{{1,{_AFTER}}}".encode())
_ASSIGNMENT = re.compile(r"[A-Za-z0-9_-]*=[^=]")
_AFTER_NAME = (b":", b"(", b"[")
"""If one of these follows a half, the half is a name on another line of settings or code."""
_WORD = re.compile(r"[A-Z]?[a-z_/=+-]+|[A-Z_/=+-]+|[0-9_/=+-]+")
"""Halves that may be words or numbers. Only a token with a vendor prefix is accepted there."""

FindSpans = Callable[[bytes, Iterable[SecretRule]], Iterable[Span]]


@dataclass(frozen=True, slots=True)
class _Split:
    start: int
    end: int
    may_be_word: bool


def split_secret_spans(
    data: bytes, rules: Iterable[SecretRule], find_spans: FindSpans
) -> Iterator[Span]:
    """Yield the spans of split secrets, with the newlines; `find_spans` scans by given rules."""
    # Two ids in consecutive lines look like one drawn token.
    rules = [rule for rule in rules if rule.may_be_secret is None]
    prefix_rules = [rule for rule in rules if rule.starts_word]
    splits = list(islice(_splits(data), _MAX_SPLITS))
    for may_be_word, accepted in ((True, prefix_rules), (False, rules)):
        selected = [split for split in splits if split.may_be_word is may_be_word]
        yield from _spans_across_splits(data, selected, accepted, find_spans)


def has_split(data: bytes) -> bool:
    return any(True for _ in _splits(data))


def _spans_across_splits(
    data: bytes, splits: Sequence[_Split], rules: Iterable[SecretRule], find_spans: FindSpans
) -> Iterator[Span]:
    """Scan the context of all splits in one call; yield the secrets that span a split."""
    before = [data[max(0, split.start - _BEFORE) : split.start] for split in splits]
    contexts = [
        head + data[split.end : split.end + _AFTER]
        for split, head in zip(splits, before, strict=True)
    ]
    ends = list(accumulate(len(context) + len(SEPARATOR) for context in contexts))
    for start, end, rule in find_spans(SEPARATOR.join(contexts), rules) if splits else ():
        index = bisect_right(ends, start)
        split, context_start = splits[index], ends[index] - len(contexts[index]) - len(SEPARATOR)
        first = split.start - len(before[index])
        relative_start, relative_end = start - context_start, end - context_start
        if relative_start < len(before[index]) < relative_end <= len(contexts[index]):
            newlines = split.end - split.start
            yield Span(first + relative_start, first + relative_end + newlines, rule)


def _splits(data: bytes) -> Iterator[_Split]:
    for match in _SPLIT.finditer(data):
        start, end = match.span()
        before = _HALF.match(data[max(0, start - _BEFORE) : start][::-1])
        after = _HALF.match(data, end)
        if before is None or after is None or len(before[0]) == len(after[0]) >= _WRAPPED_LINE:
            continue
        left, right = _value(before[0][::-1].decode()), after[0].decode()
        if (
            len(left) < _MIN_HALF
            or _ASSIGNMENT.match(right)
            or data[after.end() : after.end() + 1] in _AFTER_NAME
        ):
            continue
        if plausible.looks_random(left + right):
            yield _Split(start, end, any(_WORD.fullmatch(half) for half in (left, right)))


def _value(half: str) -> str:
    """Return the value after a name and its `=`, if there is one."""
    name, _, value = half.partition("=")
    return value if value.strip("=") else name
