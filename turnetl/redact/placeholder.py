"""What stands in place of a secret: `[REDACTED:<rule>:<digest>]`."""

import re
from hashlib import blake2b

MARK = "[REDACTED:"
"""The start of every placeholder."""
PATTERN = r"\[REDACTED:[a-z0-9-]+:([0-9a-f]{16})\]"
_DIGEST_BYTES = 8


def placeholder(rule: str, secret: bytes, key: bytes) -> str:
    """Return the placeholder of a secret.

    Args:
        rule: the name of the rule that found it.
        secret: as its reader sees it: see `normalised.undisguised`.
        key: of the lake, at most 64 bytes.
    """
    return f"{MARK}{rule}:{secret_digest(secret, key)}]"


def secret_digest(secret: bytes, key: bytes) -> str:
    """Return the digest in the placeholder of a secret; arguments as `placeholder`."""
    return blake2b(secret, key=key, digest_size=_DIGEST_BYTES).hexdigest()


def pieces(text: str) -> tuple[list[str], list[str]]:
    """Return the parts of a text around its placeholders, one more than these, and their digests.

    The parts are in the order of the text, and so are the digests.
    """
    split = re.split(PATTERN, text)
    return split[::2], split[1::2]
