"""A secret rule: a kind of secret that the native scanner does not find; patterns of rules."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, AnyStr, Generic, cast


# Compared by identity: the hash of 150 rules with all fields takes as long as a search.
@dataclass(frozen=True, eq=False)
class SecretRule:
    """Detects a secret by its context or by its own form. The last matching group is the secret.

    A pattern without a literal uses only what both regex engines support: no look-around.
    """

    name: str
    pattern: str
    description: str
    plausible: Callable[[str], bool]
    """Whether a matched value can be a secret: code has other values in such places."""
    starts_word: bool = False
    """Whether a letter or digit before the secret (other than of an escaped newline) rules it out.
    A pattern that says so does not start with a literal, and is many times slower."""

    skip: str = ""
    """Text to skip where the pattern fails. Without it, each position in that text is tried."""

    reversed_prefix: bytes = b""
    """Pattern, matched backwards, of what belongs to a secret before the end that identifies it."""

    locate: Callable[[bytes, re.Match[bytes]], Iterable[tuple[int, int]]] | None = None
    """Returns the secrets that a match announces, if they are not a group of it."""

    may_be_secret: Callable[[str], bool] | None = None
    """Whether a match of a pattern that most texts match, without a literal, can be a secret."""

    places: Callable[[bytes], Iterable[tuple[int, int]]] | None = None
    """Returns start and end of all matches that can be secrets, faster than the pattern."""

    before: str = ""
    """Pattern of what must precede the match, up to its start and within `before_bytes`."""

    before_bytes: int = 120

    @property
    def recipe(self) -> tuple[str | bytes, ...]:
        """What decides redactions. Functions count by name: renaming reads all archives again."""
        starts = "starts word" if self.starts_word else ""
        return (
            self.name,
            self.pattern,
            self.skip,
            self.plausible.__qualname__,
            starts,
            self.reversed_prefix,
            f"{self.before_bytes} {self.before}",
            self.locate.__qualname__ if self.locate is not None else "",
            self.may_be_secret.__qualname__ if self.may_be_secret is not None else "",
        )

    @cached_property
    def compiled(self) -> re.Pattern[bytes]:
        pattern = f"{self.pattern}|{self.skip}" if self.skip else self.pattern
        return re.compile(_with_short_runs(pattern).encode())

    def is_preceded(self, data: bytes, start: int) -> bool:
        if not self.before:
            return True
        return (
            self.compiled_before.search(data[max(0, start - self.before_bytes) : start]) is not None
        )

    @cached_property
    def compiled_before(self) -> re.Pattern[bytes]:
        return re.compile(_with_short_runs(rf"(?:{self.before})\Z").encode())

    @cached_property
    def compiled_prefix(self) -> re.Pattern[bytes]:
        return re.compile(self.reversed_prefix)


password_rule = partial(SecretRule, "password")
value_rule = partial(SecretRule, "secret-value")
"""Rules for the values of keys and tokens."""


def _with_short_runs(pattern: str) -> str:
    """Return the pattern with limited runs of spaces and of backslashes.

    The time for several unlimited runs in a row grows with the square of a line's length.
    """
    return _RUN.sub(lambda run: f"{run[1]}{{{int(run[2] == '+')},{_MAX_RUN}}}", pattern)


_RUN = re.compile(r"(\[ \\t\]|\\\\)([*+])(?![*+?])")
_MAX_RUN = 40
"""Spaces between two words, as in the columns of a table; JSON in JSON five times has 31
backslashes before a quote."""


class _LatePattern(Generic[AnyStr]):
    """A pattern that is compiled at its first use: a run in which no archive changed uses none."""

    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self._source: AnyStr = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        # Kept as an attribute of its own: the next use costs what one of a compiled pattern costs.
        value = getattr(re.compile(self._source, self._flags), name)
        setattr(self, name, value)
        return value


def late_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a pattern for its own methods only: the functions of `re` do not take it."""
    return cast("re.Pattern[AnyStr]", _LatePattern(pattern, flags))
