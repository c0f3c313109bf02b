"""A kind of secret that the native scanner lets pass, and why a rule of ours is needed for it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class SecretRule:
    """A secret by the words around it or by its own form. The last group that matched is it.

    Patterns keep to what both regex engines know: no look-around, no back-reference.
    """

    name: str
    pattern: str
    why: str
    plausible: Callable[[str], bool]
    """Says of what was found whether it can be a secret: values stand in code, too."""
    starts_a_word: bool = False
    """A letter or digit before it (other than of an escaped line end) makes it something else.

    Not part of the pattern: a pattern that begins with a fixed text is many times faster.
    """

    over: str = ""
    """Stepped over where the pattern fails: else it would be tried at every place in between."""

    before: re.Pattern[bytes] | None = None
    """Read backwards from where the secret starts: what it matches there is of the secret, too.

    For what must be long before its end shows what it is: a pattern would try every beginning.
    """

    @property
    def recipe(self) -> tuple[str | bytes, ...]:
        """All that decides what the rule cuts; of `plausible` only the name can be told."""
        before = self.before.pattern if self.before is not None else b""
        starts = "starts a word" if self.starts_a_word else ""
        return self.name, self.pattern, self.over, self.plausible.__qualname__, starts, before

    @cached_property
    def compiled(self) -> re.Pattern[bytes]:
        pattern = f"{self.pattern}|{self.over}" if self.over else self.pattern
        return re.compile(pattern.encode())
