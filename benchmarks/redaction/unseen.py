"""Canaries of the held-out kinds and syntaxes."""

import secrets
from collections.abc import Callable, Iterator

from benchmarks.redaction import held_out
from benchmarks.redaction.canaries import Canary, named_key, of_type, tokens
from benchmarks.redaction.drawing import draw
from benchmarks.redaction.syntaxes import QUOTED, SYNTAXES
from benchmarks.redaction.values import VALUE_TYPES, ValueType

_SYNTAXES_OF_KEYS = ("env", "YAML", "TOML and INI", "JSON")


def held_out_canaries() -> Iterator[Canary]:
    """Yield the held-out passwords, tokens and keys."""
    yield from _passwords()
    yield from tokens(held_out.TOKENS, "held out: tokens")
    for name, pattern in held_out.NAMED.items():
        for group in _SYNTAXES_OF_KEYS:
            for syntax in SYNTAXES[group][QUOTED]:
                yield named_key("held out: keys with a name", group, name, pattern, syntax)


def _passwords() -> Iterator[Canary]:
    for syntaxes, has_spaces in (
        (held_out.BARE_SYNTAXES, False),
        (held_out.QUOTED_SYNTAXES, True),
    ):
        for syntax in syntaxes:
            for type_ in VALUE_TYPES:
                if has_spaces or not type_.needs_quotes:
                    other = ValueType(type_.name, _OTHER_WORDS.get(type_.name, type_.draw))
                    yield of_type("held out: passwords", "held out", syntax, other)


def _words(count: int, separator: str = "") -> str:
    return separator.join(secrets.choice(held_out.WORDS.split()) for _ in range(count))


_OTHER_WORDS: dict[str, Callable[[], str]] = {
    "letters only": lambda: _words(2),
    "one word": lambda: _words(1),
    "dashed words": lambda: _words(3, "-"),
    "word and number": lambda: _words(1).title() + draw("{d4}"),
    "word, number, mark": lambda: _words(1) + draw("{d2}!"),
    "phrase": lambda: _words(4, " "),
}
"""Values of words that the other canaries do not have, by the type of the value."""
