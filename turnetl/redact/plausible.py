"""Can what stands in the place of a secret be one? Code is full of names in such places.

A change here that changes an answer raises `_VERSION` in `turnetl.redact.redactor`.
"""

import base64
import math
import re
from collections import Counter
from itertools import pairwise


def random(value: str) -> bool:
    """Say whether the characters change their kind as those of a drawn token do.

    Letters alone must be many for that: `PostgresAPIKey` changes its kind often, too.
    """
    value = value[:_ENOUGH]
    has_digits = any(map(str.isdigit, value))
    enough = _CHANGES if has_digits else max(_CHANGES, len(value) // 3)
    long = _SHORTEST if has_digits else _SHORTEST_OF_LETTERS
    return len(value) >= long and _changes(value) >= enough and _entropy(value) >= _ENTROPY


def password(value: str) -> bool:
    """Say whether a person may have chosen it: no word of code, no place to be filled in."""
    if _FILL_IN.search(value) or _VARIABLE.match(value):
        return False
    return value.lower() not in _WORDS and " " not in value


def mixed(value: str) -> bool:
    """Like `password`, of what stands without quotes, as names in code and paths do."""
    digits = any(character.isdigit() for character in value)
    letters = any(character.isalpha() for character in value)
    named = _PART.match(value) or _is_place(value)
    return password(value) and ((digits and letters and not named) or token(value))


def token(value: str) -> bool:
    return not _FILL_IN.search(value) and random(value) and not _is_place(value)


def drawn(value: str) -> bool:
    """Like `token`, where the words around say little: no digest, uuid or number in words."""
    kinds = {_kind(character) for character in value[:_ENOUGH]}
    return token(value) and kinds >= {"0", "A", "a"} and len(value) >= _SHORTEST_OF_LETTERS


def drawn_value(value: str) -> bool:
    """Like `drawn`, where names in code stand as well: `OAuth2ClientCredentials`."""
    value = value[:_ENOUGH]
    return drawn(value) and not _PART.match(value) and _changes(value) > len(value) * _RESTLESS


def drawn_password(value: str) -> bool:
    """Like `drawn_value`, of what may be as short as passwords are."""
    kinds = {_kind(character) for character in value[:_ENOUGH]}
    return token(value) and kinds >= {"0", "A", "a"} and not _PART.match(value)


def cookie(value: str) -> bool:
    """Say whether one of the values in `name=value; name=value` is a token."""
    return any(token(part.partition("=")[2].strip()) for part in value[:_ENOUGH].split(";"))


def basic(value: str) -> bool:
    """Say whether it is `user:password` in base64."""
    try:
        inside = base64.b64decode(value[:_ENOUGH], validate=True).decode()
    except ValueError:
        return False
    return ":" in inside and inside.isprintable()


def anything(_: str) -> bool:
    return True


def key_body(value: str) -> bool:
    """Say whether there is a key between the lines that begin and end one."""
    return _BASE64_LINE.search(value) is not None


def _is_place(value: str) -> bool:
    """Say whether it is a path or an address, and not base64 that begins like one."""
    found = _PLACE.match(value)
    longest = max(re.split(r"[/\\]", value[:_ENOUGH]), key=len) if found else ""
    return found is not None and not (len(longest) >= _SHORTEST_OF_LETTERS and random(longest))


def _changes(value: str) -> int:
    kinds = [_kind(character) for character in value]
    return sum(a != b for a, b in pairwise(kinds) if "-" not in (a, b))


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


_ENOUGH = 4096
"""Characters that are looked at: a longer value is as random as its beginning."""
_SHORTEST = 8
"""Characters of a token with digits. None is shorter; `utf8` and `sha256` are names."""
_SHORTEST_OF_LETTERS = 20
"""Characters of a token without digits: names in code reach fifteen and more, `PostgresAPIKey`."""
_CHANGES = 3
"""Changes of kind, of a token with digits: a name with its number, `retries2`, has one, `stage2b`
two."""
_RESTLESS = 0.3
"""Changes of kind a character: a name in code has about 0.25, what is drawn 0.6."""
_ENTROPY = 2.5
"""Bits a character: `a1a1a1a1` has 1, eight different characters have 3."""
_FILL_IN = re.compile(
    r"^[=$%<{(\[]|\$\{|\{\{|\.\.\.|\*\*\*|(?-i:x{4}|X{4})|your(?:[_-]|pass|token|api|secret|key)|example|placeholder|redacted|change_?me",
    re.IGNORECASE,
)
_PLACE = re.compile(r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\]|[a-z]{2,10}://")
"""A path or an address."""
_PART = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\Z")
"""The name of something's part: `user2.password`."""
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*_(?:PASSWORD|PASS|PWD|PASSPHRASE|SECRET|TOKEN|KEY)\Z")
"""Where the password stands: `NEO4J_PASSWORD`."""
_WORDS = frozenset(
    {"password", "passwd", "passphrase", "secret", "token", "string", "required", "optional"}
    | {"hidden", "text", "true", "false", "none", "null", "undefined", "invalid", "missing"}
)
_BASE64_LINE = re.compile(r"[A-Za-z0-9+/=]{32}")
