"""Secrets out of texts, before anything is written.

Two sources of findings: the native scanner with its maintained rules (offline; it only detects),
and `RULES` below for what that scanner lets pass. A finding is taken back to its own text and must
hold there: nothing that lies in another text can make it a secret.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from importlib.metadata import version as release
from itertools import accumulate, chain
from typing import NamedTuple

from turnetl import ids
from turnetl.redact import plausible
from turnetl.redact.exact_match import Known
from turnetl.redact.matches import matches
from turnetl.redact.pii import NAMES, PERSONAL, named
from turnetl.redact.prefilter import holding, suspects
from turnetl.redact.rules import RULES, SecretRule
from turnetl.redact.scanner import Scanner
from turnetl.redact.spans import Span, merged
from turnetl.redact.split_secrets import SHAPE, over_seams

_VERSION = "3"
"""Goes up with every change of what is cut that neither a rule nor the scanner's release shows."""
_ROUNDS = 8
"""Looks at one text. A cut can lay bare what it hid from a rule, so a text is looked at until
nothing is found, as a rule the second time; no text shall be able to go on for ever."""
_UNMISTAKABLE = 8
"""Characters of a secret that is cut out wherever it stands: `admin1`, a password in one text, is
a name in the next."""
_LONGEST_KEY = 16_384
"""Bytes read backwards from the end of a key. OpenSSL takes RSA keys of up to 16,384 bits: 12.6 kB
as PEM. The rest is for line numbers and quotes between its lines."""
_LOOKED_INTO = 200
"""Bytes of what was found and is none: up to these something else may begin within it."""
_IN_A_WORD = re.compile(rb"(?:\A|[^\\])[A-Za-z0-9]\Z|\\[A-MO-QSU-Za-mo-qsu-z0-9]\Z")


class _Clean(NamedTuple):
    """A text without secrets, how many were cut out, and by which rules which."""

    text: str
    cuts: int
    secrets: Mapping[bytes, str]


class SecretRedactor:
    """Cuts secrets out of texts. Makes no network call; the rules are loaded at the first text."""

    def __init__(self, key: bytes = b"turnetl", *, pii: bool = False) -> None:
        """Take what decides about the cuts.

        Args:
            key: of the digests; with another key the same secret has another name.
            pii: also cut what names a person: see `turnetl.redact.pii`.
        """
        self._key = key
        self._pii = pii
        self._rules = (*RULES, *PERSONAL) if pii else RULES
        self._scanner = Scanner()

    def __reduce__(self) -> tuple[Callable[[], "SecretRedactor"], tuple[()]]:
        """Go to another process without the scanner: it cannot, and is loaded anew there."""
        return partial(type(self), self._key, pii=self._pii), ()

    @property
    def version(self) -> str:
        """Digest of all that decides what is cut: the scanner's release, our rules and the key."""
        ours = (part for rule in self._rules for part in rule.recipe)
        return ids.digest(_VERSION, release("kingfisher-secret-scanner"), self._key, *ours)

    def redact(self, texts: list[str]) -> tuple[list[str], list[int]]:
        """Return the texts with `[REDACTED:<rule>:<digest>]` for each secret, and how many of them.

        Same order, same length. Of one and the same secret the digest is always the same. What was
        found in one text is cut out wherever it stands in the others. Repeating changes nothing.
        """
        return self.redact_each([texts])[0]

    def redact_each(self, archives: Sequence[list[str]]) -> list[tuple[list[str], list[int]]]:
        """Return what `redact` says of the texts of each archive: one look at all is quicker."""
        found = self._suspects([*chain.from_iterable(archives)])
        starts = list(accumulate(map(len, archives), initial=0))
        of_each: list[dict[int, list[SecretRule]]] = [{} for _ in archives]
        for at, rules in found.items():
            archive = bisect_right(starts, at) - 1
            of_each[archive][at - starts[archive]] = rules
        looked_at: dict[str, _Clean] = {}
        return [
            self._cut(texts, here, looked_at) if here else (texts, [0] * len(texts))
            for texts, here in zip(archives, of_each, strict=True)
        ]

    def _cut(
        self,
        texts: list[str],
        found: Mapping[int, Iterable[SecretRule]],
        looked_at: dict[str, _Clean],
    ) -> tuple[list[str], list[int]]:
        """Cut out what is found in the suspects among the texts, and wherever else it stands.

        Texts that are equal have the same suspicion, and are looked at once.
        """
        clean, counts = [*texts], [0] * len(texts)
        secrets: dict[bytes, str] = {}
        for index, rules in found.items():
            text = texts[index]
            if text not in looked_at:
                here: dict[bytes, str] = {}
                looked_at[text] = _Clean(*self._clean(text, rules, here), here)
            clean[index], counts[index], known = looked_at[text]
            secrets |= known
        self._cut_known(clean, counts, secrets)
        return clean, counts

    def _suspects(self, texts: list[str]) -> dict[int, list[SecretRule]]:
        found = suspects(texts, self._scanner, shapes=[SHAPE])
        for index, rules in named(texts).items() if self._pii else ():
            found.setdefault(index, []).extend(rules)
        return found

    def _clean(
        self, text: str, rules: Iterable[SecretRule], secrets: dict[bytes, str]
    ) -> tuple[str, int]:
        """Cut until nothing is found any more; `rules` are those that the first look needs."""
        data = text.encode("utf-8", "surrogatepass")
        total = 0
        for _ in range(_ROUNDS):
            over = over_seams(data, self._rules, self._all)
            spans = merged(data, [*self._all(data, rules), *over])
            if not spans:
                break
            total += len(spans)
            secrets.update({data[a:z]: rule for a, z, rule in spans if rule not in NAMES})
            data, rules = self._without(data, spans), self._rules
        return data.decode("utf-8", "surrogatepass") if total else text, total

    def _cut_known(self, clean: list[str], counts: list[int], secrets: dict[bytes, str]) -> None:
        """Cut out of every text what another one has shown to be a secret."""
        certain = {secret: rule for secret, rule in secrets.items() if _unmistakable(secret)}
        if not certain:
            return
        known = Known(certain)
        for index in holding(clean, known):
            data = clean[index].encode("utf-8", "surrogatepass")
            spans = merged(data, known.spans(data))
            without = self._without(data, spans).decode("utf-8", "surrogatepass")
            clean[index], more = self._clean(without, self._rules, {})
            counts[index] += len(spans) + more

    def _all(self, data: bytes, rules: Iterable[SecretRule]) -> Iterator[Span]:
        yield from self._native(data)
        yield from self._ours(data, rules)

    def _native(self, data: bytes) -> Iterator[Span]:
        elsewhere = {}
        for found in self._scanner.scan(data):
            rule = _short(found.rule)
            if found.is_half and not _SECRET_PART.search(rule):
                continue
            if found.is_base64 or data[found.start : found.end] == found.secret:
                yield Span(found.start, found.end, rule)
            else:
                elsewhere[found.secret] = rule
        if elsewhere:
            yield from Known(elsewhere).spans(data)

    def _ours(self, data: bytes, rules: Iterable[SecretRule]) -> Iterator[Span]:
        here = matches(data, rules)
        for rule in here.rules:
            at = 0
            while match := here.first(rule, at):
                at = max(match.end(), at + 1)
                if match.lastindex is None:
                    continue
                start, end = match.span(match.lastindex)
                if _is_one(rule, data, start := start - _before(rule, data, start), end):
                    yield Span(start, end - data.endswith(b".", start, end), rule.name)
                elif end - start < _LOOKED_INTO:
                    at = match.start() + 1

    def _without(self, data: bytes, spans: list[Span]) -> bytes:
        pieces, at = [], 0
        for start, end, rule in spans:
            pieces += [data[at:start], self._placeholder(rule, data[start:end])]
            at = end
        return b"".join([*pieces, data[at:]])

    def _placeholder(self, rule: str, secret: bytes) -> bytes:
        digest = blake2b(secret, key=self._key[:64], digest_size=2).hexdigest()
        return f"[REDACTED:{rule}:{digest}]".encode()


# Rules of the scanner that it keeps to itself as half of a pair; of these, only secrets are cut.
_SECRET_PART = re.compile(r"secret|passphrase|token$|api-key|consumer-key|application-key")


def _short(rule_id: str) -> str:
    """`betterleaks.github-pat` -> `github-pat`; what is no letter, digit or dash becomes a dash."""
    name = re.sub(r"^(?:betterleaks|veles|kingfisher)[./]", "", rule_id)
    name = re.sub(r"^secrets/|\.\d+$", "", name).lower()
    return re.sub(r"[^a-z0-9]+", "-", name).strip("-") or "secret"


def _is_one(rule: SecretRule, data: bytes, start: int, end: int) -> bool:
    if rule.starts_a_word and _IN_A_WORD.search(data[max(0, start - 2) : start]):
        return False
    return rule.plausible(data[start:end].decode("utf-8", "replace"))


def _before(rule: SecretRule, data: bytes, start: int) -> int:
    """Return how many bytes before `start` the rule claims."""
    if rule.before is None:
        return 0
    backwards = data[max(0, start - _LONGEST_KEY) : start][::-1]
    match = rule.before.match(backwards)
    return match.end() if match is not None else 0


def _unmistakable(secret: bytes) -> bool:
    """Say whether the secret is one wherever it stands, and not a word that happened to be one."""
    text = secret.decode("utf-8", "replace")
    return len(text) >= _UNMISTAKABLE and not text.split()[1:] and plausible.mixed(text)
