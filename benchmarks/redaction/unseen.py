"""Canaries of the held-out kinds and syntaxes."""

import base64
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from benchmarks.redaction.canaries import Canary, named_key, of_type, tokens
from benchmarks.redaction.drawing import draw
from benchmarks.redaction.held_out import first, fourth, second, third
from benchmarks.redaction.syntaxes import QUOTED, SYNTAXES
from benchmarks.redaction.values import VALUE_TYPES, ValueType

_SYNTAXES_OF_KEYS = ("env", "YAML", "TOML and INI", "JSON")
_BASE64 = "{base64}"
"""Stands for the value in base64."""
_BASIC = "{basic}"
"""Stands for a user and the value in base64."""


@dataclass(frozen=True)
class HeldOutSet:
    name: str
    tokens: dict[str, str]
    named: dict[str, str]
    words: Sequence[str]
    bare_syntaxes: Sequence[str]
    quoted_syntaxes: Sequence[str]
    drawn_syntaxes: Sequence[str]
    """Syntaxes of tokens, which people do not choose."""


HELD_OUT_SETS = tuple(
    HeldOutSet(
        name,
        module.TOKENS,
        module.NAMED,
        module.WORDS.split(),
        module.BARE_SYNTAXES,
        module.QUOTED_SYNTAXES,
        getattr(module, "DRAWN_SYNTAXES", ()),
    )
    for name, module in (
        ("first", first),
        ("second", second),
        ("third", third),
        ("fourth", fourth),
    )
)


def held_out_canaries(held_out: HeldOutSet) -> Iterator[Canary]:
    """Yield the passwords, tokens and keys of one set."""
    yield from _passwords(held_out)
    for syntax in held_out.drawn_syntaxes:
        for type_ in VALUE_TYPES:
            if type_.name.startswith("drawn"):
                yield _password(f"{held_out.name} set: drawn values", syntax, type_)
    yield from tokens(held_out.tokens, f"{held_out.name} set: tokens")
    family = f"{held_out.name} set: keys with a name"
    for name, pattern in held_out.named.items():
        for group in _SYNTAXES_OF_KEYS:
            for syntax in SYNTAXES[group][QUOTED]:
                yield named_key(family, group, name, pattern, syntax)


def _passwords(held_out: HeldOutSet) -> Iterator[Canary]:
    other_words = _other_words(held_out.words)
    for syntaxes, has_spaces in (
        (held_out.bare_syntaxes, False),
        (held_out.quoted_syntaxes, True),
    ):
        for syntax in syntaxes:
            for type_ in VALUE_TYPES:
                if has_spaces or not type_.needs_quotes:
                    other = ValueType(type_.name, other_words.get(type_.name, type_.draw))
                    yield _password(f"{held_out.name} set: passwords", syntax, other)


def _password(family: str, syntax: str, type_: ValueType) -> Canary:
    canary = of_type(family, "held out", syntax, type_)
    for mark, user in ((_BASE64, ""), (_BASIC, "kim:")):
        if mark in syntax:
            encoded = base64.b64encode(f"{user}{canary.secret}".encode()).decode()
            return replace(canary, secret=encoded, text=canary.text.replace(mark, encoded))
    return canary


def _other_words(words: Sequence[str]) -> dict[str, Callable[[], str]]:
    """Return values of words that the other canaries do not have, by the type of the value."""

    def chosen(count: int, separator: str = "") -> str:
        return separator.join(random.choice(words) for _ in range(count))

    return {
        "letters only": lambda: chosen(2),
        "one word": lambda: chosen(1),
        "dashed words": lambda: chosen(3, "-"),
        "word and number": lambda: chosen(1).title() + draw("{d4}"),
        "word, number, mark": lambda: chosen(1) + draw("{d2}!"),
        "phrase": lambda: chosen(4, " "),
    }
