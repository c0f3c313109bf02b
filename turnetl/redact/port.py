"""The Redactor port: texts in, the same texts without secrets out."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class RedactedTexts(NamedTuple):
    """The texts of one archive without secrets, in the order given."""

    texts: list[str]
    counts: list[int]
    """Number of redactions in each text."""


class Redactor(Protocol):
    """Removes secrets from texts."""

    @property
    def version(self) -> str:
        """A digest that changes when the same text may be redacted differently.

        Archives are then parsed again.
        """
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
