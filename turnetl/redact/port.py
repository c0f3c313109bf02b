"""The Redactor port: texts in, the same texts with `[REDACTED:<rule>:<digest>]` for secrets out."""

import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple, Protocol


class RedactedTexts(NamedTuple):
    """The texts of one archive without secrets, in the order given."""

    texts: list[str]
    counts: list[int]
    """Number of redactions in each text."""


class Redactor(Protocol):
    @property
    def version(self) -> str:
        """A digest that changes when redactions may differ: archives are then parsed again."""
        ...

    def redact_many(self, archives: Sequence[list[str]]) -> list[RedactedTexts]:
        """Return the texts of each archive, redacted.

        An archive's result depends on its own texts only, and redacting a result changes nothing.
        """
        ...

    @property
    def redacts_persons(self) -> bool:
        """Whether personal data is redacted too."""
        ...

    def person_placeholder(self, name: str) -> str:
        """Return what stands in place of the name of a person, always the same for a name."""
        ...


MARK = "[REDACTED:"
"""The start of every placeholder."""
PATTERN = r"\[REDACTED:[a-z0-9-]+:([0-9a-f]{16})\]"
_DIGEST_BYTES = 8


def placeholder(rule: str, secret: bytes, key: bytes) -> str:
    """Return the placeholder of a secret as its reader sees it: see `normalised.undisguised`."""
    return f"{MARK}{rule}:{secret_digest(secret, key)}]"


def secret_digest(secret: bytes, key: bytes) -> str:
    return blake2b(secret, key=key, digest_size=_DIGEST_BYTES).hexdigest()


def pieces(text: str) -> tuple[list[str], list[str]]:
    """Return the parts of a text around its placeholders, one more than these, and the digests."""
    split = re.split(PATTERN, text)
    return split[::2], split[1::2]


_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SEPARATORS = re.compile(r"[/\\._~{}-]+")
_SHORT_WORD = re.compile(r"[^\W\d_]{0,15}\d{0,2}|[^\W_]{0,8}")


def is_plain(name: str) -> bool:
    """Return whether a name surely holds no secret: it has only short words and uuids.

    To redact one path loads all rules of the scanner: half a second.
    """
    return all(map(_SHORT_WORD.fullmatch, _SEPARATORS.split(_UUID.sub("", name))))
