"""Canaries: each is a drawn secret in a text that announces it or in which it stands alone."""

import math
import random
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from benchmarks.redaction.drawing import draw
from benchmarks.redaction.kinds import KEYS, NAMED, PAYMENT
from benchmarks.redaction.places import DISGUISES, PLACES
from benchmarks.redaction.syntaxes import BARE, QUOTED, SYNTAXES, with_name
from benchmarks.redaction.tokens import TOKENS
from benchmarks.redaction.values import VALUE_TYPES, ValueType
from turnetl.redact import Redactor

_DISGUISED = ("env", "YAML", "JSON", "TOML and INI", "code")
"""Groups of syntaxes that are also disguised."""
_NAME = re.compile("<ENV>|<name>|<camel>")
_MIN_PART = 6
"""Characters of a part that counts as a partial leak."""


@dataclass(frozen=True)
class Canary:
    family: str
    group: str
    """Group of the syntax or of the place."""
    kind: str
    """Kind of the secret, or type of the password."""
    syntax: str
    secret: str
    text: str


@dataclass(frozen=True)
class Leak:
    canary: Canary
    clean: str
    is_full: bool


def all_canaries() -> Iterator[Canary]:
    """Yield every kind in every syntax that can hold it."""
    yield from passwords()
    yield from tokens(TOKENS)
    yield from named_keys(NAMED)
    yield from keys()
    yield from payment_numbers()


def leaks(canaries: Iterable[Canary], redactor: Redactor) -> Iterator[Leak]:
    """Yield the canaries that a redactor leaves in whole or in part; each is its own archive."""
    canaries = [*canaries]
    results = redactor.redact_many([[canary.text] for canary in canaries])
    for canary, result in zip(canaries, results, strict=True):
        (clean,) = result.texts
        if canary.secret in clean:
            yield Leak(canary, clean, is_full=True)
        elif any(part in clean for part in _parts(canary.secret)):
            yield Leak(canary, clean, is_full=False)


def _parts(secret: str) -> Iterator[str]:
    """Yield every part of half the length."""
    size = max(_MIN_PART, math.ceil(len(secret) / 2))
    yield from (secret[start : start + size] for start in range(len(secret) - size + 1))


def passwords() -> Iterator[Canary]:
    for group, by_values in SYNTAXES.items():
        for values, syntaxes in by_values.items():
            for syntax in syntaxes:
                yield from _of_all_types(group, syntax, values)
                yield from _disguised(group, syntax, values)


def _disguised(group: str, syntax: str, values: str) -> Iterator[Canary]:
    for disguised_group, disguises in DISGUISES.items() if group in _DISGUISED else ():
        for disguise in disguises.values():
            text = disguise(with_name(syntax))
            if text != syntax:
                yield from _of_all_types(disguised_group, text, values)


def _of_all_types(group: str, syntax: str, values: str) -> Iterator[Canary]:
    for type_ in VALUE_TYPES:
        if values == QUOTED or not type_.needs_quotes:
            yield of_type("passwords", group, syntax, type_)


def of_type(family: str, group: str, syntax: str, type_: ValueType) -> Canary:
    secret = type_.draw()
    text = with_name(syntax).replace("{}", secret)
    return Canary(family, group, type_.name, syntax, secret, text)


def tokens(patterns: Mapping[str, str], family: str = "tokens") -> Iterator[Canary]:
    """Yield each kind of token in one place of each group, chosen at random, and alone."""
    for kind, pattern in patterns.items():
        for group, places in PLACES.items():
            for place in {places[0], random.choice(places), random.choice(places)}:
                secret = draw(pattern)
                yield Canary(family, group, kind, place, secret, place.replace("{}", secret))


def named_keys(patterns: Mapping[str, str], family: str = "keys with a name") -> Iterator[Canary]:
    """Yield each key in all syntaxes that have a name to replace."""
    for name, pattern in patterns.items():
        for group, by_values in SYNTAXES.items():
            for syntax in (*by_values.get(BARE, ()), *by_values.get(QUOTED, ())):
                if _NAME.search(syntax) and group != "UI tests":
                    yield named_key(family, group, name, pattern, syntax)
            if group in _DISGUISED:
                yield from _disguised_keys(family, name, pattern, by_values[QUOTED][0])


def _disguised_keys(family: str, name: str, pattern: str, syntax: str) -> Iterator[Canary]:
    for group, disguises in DISGUISES.items():
        disguise = random.choice([*disguises.values()])
        yield named_key(family, group, name, pattern, disguise(_with_key_name(syntax, name)))


def named_key(family: str, group: str, name: str, pattern: str, syntax: str) -> Canary:
    text, secret = _with_key_name(syntax, name), draw(pattern)
    return Canary(family, group, name, syntax, secret, text.replace("{}", secret))


def _with_key_name(syntax: str, name: str) -> str:
    first, *rest = name.lower().split("_")
    camel = first + "".join(map(str.title, rest))
    return syntax.replace("<ENV>", name).replace("<name>", name.lower()).replace("<camel>", camel)


def keys() -> Iterator[Canary]:
    for kind, draw_key in KEYS.items():
        for place in ("{}", "see:\n{}\nend", "\x1b[32m+\x1b[m\x1b[32m{}\x1b[m", "+{}"):
            secret, text = draw_key()
            in_place = "\n".join(place.replace("{}", line) for line in text.split("\n"))
            whole = place.replace("{}", text) if "see" in place else in_place
            yield Canary("key files and seeds", kind, kind, place, secret, whole)


def payment_numbers() -> Iterator[Canary]:
    places = (
        *("{}", "card: {}", '"card": "{}"', "number={}", "| {} |", "pay with {} please"),
        *("\x1b[32m+\x1b[m\x1b[32m{}\x1b[m", "a,{},b", "<iban>{}</iban>", "my IBAN is {}."),
    )
    for kind, number in PAYMENT.items():
        for place in places:
            secret = number()
            text = place.replace("{}", secret)
            yield Canary("payment numbers", kind, kind, place, secret, text)
