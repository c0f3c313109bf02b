"""Checks whether a matched value can be a secret: code has names in the same places.

A change of a result raises `_VERSION` in `turnetl.redact.redactor`; so in `chosen`, `drawn_tokens`.
"""

import base64
import math
import re
from collections import Counter

from turnetl.redact.rule import late_pattern


def looks_random(value: str) -> bool:
    """Return whether the kind of character changes as often as in a generated token.

    Without digits, more characters are required: `PostgresAPIKey` also changes its kind often.
    """
    value = value[:_MAX_CHARS]
    has_digits = any(map(str.isdigit, value))
    min_changes = _MIN_CHANGES if has_digits else max(_MIN_CHANGES, len(value) // 3)
    min_chars = _MIN_CHARS if has_digits else _MIN_LETTERS
    return (
        len(value) >= min_chars
        and _changes(value) >= min_changes
        and _entropy(value) >= _MIN_ENTROPY
    )


def is_password(value: str) -> bool:
    """Return whether a person may have chosen the value: no code keyword, no placeholder."""
    if _PLACEHOLDER.search(value) or _VARIABLE.match(value):
        return False
    return value.lower() not in _KEYWORDS and " " not in value


def is_unquoted_password(value: str) -> bool:
    """Like `is_password`, for a value without quotes, where code also has names and paths."""
    digits = any(character.isdigit() for character in value)
    letters = any(character.isalpha() for character in value)
    is_name = _ATTRIBUTE.match(value) or is_path(value)
    return is_password(value) and ((digits and letters and not is_name) or is_token(value))


def is_token(value: str) -> bool:
    is_reference = is_path(value) or _NAME_IN_CLUSTER.match(value) is not None
    return not _PLACEHOLDER.search(value) and looks_random(value) and not is_reference


def is_issued(value: str) -> bool:
    """Like `is_token`, after the prefix of an issuer: a uuid may consist of digits only."""
    is_uuid = _UUID_AT_END.search(value) is not None and len({*value}) >= _MIN_DISTINCT
    return is_token(value) or (is_uuid and not is_placeholder(value))


def is_generated(value: str) -> bool:
    """Like `is_token`, in a weak context: no digest, uuid or number with letters."""
    return is_token(value) and _has_all_kinds(value) and len(value) >= _MIN_LETTERS


def is_generated_value(value: str) -> bool:
    """Like `is_generated`, where code also has names such as `OAuth2ClientCredentials`."""
    value = value[:_MAX_CHARS]
    frequent_changes = _changes(value) > len(value) * _CHANGE_RATE
    return is_generated(value) and not _ATTRIBUTE.match(value) and frequent_changes


def is_generated_password(value: str) -> bool:
    """Like `is_generated_value`, for a value that may be as short as a password."""
    return is_token(value) and _has_all_kinds(value) and not _ATTRIBUTE.match(value)


def is_placeholder(value: str) -> bool:
    return _PLACEHOLDER.search(value) is not None


def is_variable(value: str) -> bool:
    """Return whether the value is the name of a variable that holds the password."""
    return _VARIABLE.match(value) is not None


def is_attribute(value: str) -> bool:
    return _ATTRIBUTE.match(value) is not None


def decoded(value: str) -> str | None:
    try:
        text = base64.b64decode(value[:_MAX_CHARS], validate=True).decode("ascii").rstrip("\n")
    except ValueError:
        return None
    return text if text.isprintable() and len(text) >= _MIN_DECODED else None


_MIN_DECODED = 5


def is_basic_auth(value: str) -> bool:
    try:
        decoded = base64.b64decode(value[:_MAX_CHARS], validate=True).decode()
    except ValueError:
        return False
    return ":" in decoded and decoded.isprintable()


def is_anything(_: str) -> bool:
    return True


def is_key_body(value: str) -> bool:
    return _BASE64_LINE.search(value) is not None


def is_path(value: str) -> bool:
    """Return whether the value is a path or a URL, and not base64 that starts like one."""
    match = _PATH.match(value)
    longest = max(re.split(r"[/\\]", value[:_MAX_CHARS]), key=len) if match else ""
    return match is not None and not (len(longest) >= _MIN_LETTERS and looks_random(longest))


def _changes(value: str) -> int:
    """Return how many digits and letters follow a digit or a letter of another kind."""
    kinds = value if value.isascii() else "".join(map(_kind, value))
    return len(_OF_ONE_KIND.findall(kinds)) - len(_OF_ANY_KIND.findall(kinds))


def _has_all_kinds(value: str) -> bool:
    return {"0", "A", "a"} <= {*map(_kind, value[:_MAX_CHARS])}


def _kind(character: str) -> str:
    if character.isdigit():
        return "0"
    if character.isalpha():
        return "A" if character.isupper() else "a"
    return "-"


def _entropy(value: str) -> float:
    shares = [count / len(value) for count in Counter(value).values()]
    return -sum(share * math.log2(share) for share in shares)


_OF_ONE_KIND = late_pattern(r"[0-9]+|[A-Z]+|[a-z]+")
_OF_ANY_KIND = late_pattern(r"[0-9A-Za-z]+")
_MAX_CHARS = 4096
"""Characters that are checked: a longer value is as random as its start."""
_MIN_CHARS = 8
"""Characters of a token with digits. None is shorter; `utf8` and `sha256` are names."""
_MIN_LETTERS = 20
"""Characters of a token without digits: names in code have fifteen and more, `PostgresAPIKey`."""
_MIN_CHANGES = 3
"""Changes of kind in a token with digits: the name `retries2` has one, `stage2b` two."""
_CHANGE_RATE = 0.3
"""Changes of kind per character: a name in code has about 0.25, a generated value 0.6."""
_MIN_ENTROPY = 2.5
"""Bits per character: `a1a1a1a1` has 1, eight different characters have 3."""
_PLACEHOLDER = late_pattern(
    r"^(?:[=%<{(\[]|\$(?![0-9][A-Za-z0-9]{3}|[a-z]{0,3}[0-9][a-z0-9$]{2,20}[0-9]{2}\b))|\$\{"
    r"|\{\{|\.\.\.|\*\*\*"
    # Inside a word, four equal letters may be chance.
    r"|(?:\b|_)(?-i:x{4}|X{4})|(?-i:x{4}|X{4})(?:\b|_)"
    r"|your(?:[_-]|pass|token|api|secret|key)|example|placeholder|redacted|change[_-]?me"
    r"|replace[_-]?me|^(?:required|sometimes|nullable|string|confirmed)\|",
    re.IGNORECASE,
)
_PATH = late_pattern(r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\]|[a-z]{2,10}://")
"""A path or a URL."""
_ATTRIBUTE = late_pattern(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\Z")
"""An attribute in code: `user2.password`."""
_VARIABLE = late_pattern(r"[A-Z][A-Z0-9_]*_(?:PASSWORD|PASS|PWD|PASSPHRASE|SECRET|TOKEN|KEY)\Z")
"""The variable that holds the password: `NEO4J_PASSWORD`."""
_NAME_IN_CLUSTER = late_pattern(
    r"(?:[a-z0-9]{1,20}-){1,6}(?:token|dockercfg|certs?|tls)-[bcdfghjklmnpqrstvwxz2456789]{5}\Z"
)
"""The name of a secret in Kubernetes, which adds five drawn characters: `default-token-x7k2p`."""
_KEYWORDS = frozenset(
    {"password", "passwd", "passphrase", "secret", "token", "string", "required", "optional"}
    | {"hidden", "text", "true", "false", "none", "null", "undefined", "invalid", "missing"}
)
_UUID_AT_END = late_pattern(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
_MIN_DISTINCT = 10
"""Characters that differ in a prefix and a uuid: `00000000-…` is an example."""
_BASE64_LINE = late_pattern(r"[A-Za-z0-9+/=]{32}")
