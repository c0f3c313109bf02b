"""Can what stands in the place of a secret be one? Code is full of names in such places.

A change here that changes an answer raises `_VERSION` in `turnetl.redact.redactor`.
"""

import math
import re
from collections import Counter
from itertools import pairwise


def random(value: str) -> bool:
    """Say whether the characters change their kind as those of a drawn token do.

    Letters alone must be many for that: `PostgresAPIKey` changes its kind often, too.
    """
    kinds = [_kind(character) for character in value]
    changes = sum(a != b for a, b in pairwise(kinds) if "-" not in (a, b))
    enough = _CHANGES if "0" in kinds else max(_CHANGES, len(value) // 3)
    long = _SHORTEST if "0" in kinds else _SHORTEST_OF_LETTERS
    return len(value) >= long and changes >= enough and _entropy(value) >= _ENTROPY


def password(value: str) -> bool:
    """Say whether a person may have chosen it: no word of code, no place to be filled in."""
    return not _FILL_IN.search(value) and value.lower() not in _WORDS and " " not in value


def mixed(value: str) -> bool:
    """Like `password`, of what stands without quotes, as names in code do."""
    digits = any(character.isdigit() for character in value)
    letters = any(character.isalpha() for character in value)
    return password(value) and ((digits and letters) or random(value))


def token(value: str) -> bool:
    return random(value) and not _FILL_IN.search(value)


def key_body(value: str) -> bool:
    """Say whether there is a key between the lines that begin and end one."""
    return _BASE64_LINE.search(value) is not None


def _kind(character: str) -> str:
    if character.isdigit():
        return "0"
    if character.isalpha():
        return "A" if character.isupper() else "a"
    return "-"


def _entropy(value: str) -> float:
    """Bits a character."""
    shares = [count / len(value) for count in Counter(value).values()]
    return -sum(share * math.log2(share) for share in shares)


_SHORTEST = 8
"""Characters of a token with digits. None is shorter; `utf8` and `sha256` are names."""
_SHORTEST_OF_LETTERS = 20
"""Characters of a token without digits: names in code reach fifteen and more, `PostgresAPIKey`."""
_CHANGES = 3
"""Changes of kind, of a token with digits: a name with its number, `retries2`, has one, `stage2b`
two."""
_ENTROPY = 2.5
"""Bits a character: `a1a1a1a1` has 1, eight different characters have 3."""
_FILL_IN = re.compile(
    r"^[$%<{(\[]|\$\{|\{\{|\.\.\.|\*\*\*|(?-i:x{4}|X{4})|your[_-]|example|placeholder|redacted|change_?me",
    re.IGNORECASE,
)
_WORDS = frozenset(
    {"password", "passwd", "passphrase", "secret", "token", "string", "required", "optional"}
    | {"hidden", "text", "true", "false", "none", "null", "undefined", "invalid", "missing"}
)
_BASE64_LINE = re.compile(r"[A-Za-z0-9+/=]{32}")
