"""The redactor: removes secrets from texts before anything is written."""

import os
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from importlib.metadata import version as package_version
from typing import TYPE_CHECKING

from turnetl.base import ids
from turnetl.redact.port import RedactedTexts, placeholder, secret_digest
from turnetl.redact.rule import SecretRule
from turnetl.redact.rules import RULES

if TYPE_CHECKING:
    from turnetl.redact.engine import RedactionEngine

_VERSION = "10"
"""Raised with every change of results that neither a rule nor the scanner's release shows."""

_PII_PACKAGES = ("wordllama", "phonenumberslite")
"""Their words and numbers decide what is a name or a phone number."""
_KEY_BYTES = 32


class SecretRedactor:
    """Removes secrets from texts. Uses no network; imports its scanner with the first text."""

    def __init__(self, key: bytes | None = None, *, pii: bool = False) -> None:
        """Set the key of the digests, of at most 64 bytes; None: a random one."""
        self._key = os.urandom(_KEY_BYTES) if key is None else key
        self.redacts_persons = pii

    def __reduce__(self) -> tuple[Callable[[], "SecretRedactor"], tuple[()]]:
        """Pickle without the scanner, which each process loads for itself."""
        return partial(type(self), self._key, pii=self.redacts_persons), ()

    @cached_property
    def version(self) -> str:
        """Digest of scanner, rules, packages and key, which it does not reveal."""
        recipes = (part for rule in self._rules for part in rule.recipe)
        scanner = package_version("kingfisher-secret-scanner")
        packages = map(package_version, _PII_PACKAGES if self.redacts_persons else ())
        return ids.digest(_VERSION, scanner, ids.digest("key", self._key), *recipes, *packages)

    def redact(self, texts: list[str]) -> RedactedTexts:
        """Return the texts with `[REDACTED:<rule>:<digest>]` in place of each secret.

        A secret that one text reveals is redacted in all of these texts. Repeating changes nothing.
        """
        return self.redact_many([texts])[0]

    def redact_many(self, archives: Sequence[list[str]]) -> list[RedactedTexts]:
        """Return `redact` of the texts of each archive; one scan over all of them is faster."""
        return self._engine.redact_many(archives)

    def person_placeholder(self, name: str) -> str:
        return placeholder("person", _seen(name), self._key)

    def stands_for(self, digest: str, secret: str) -> bool:
        """Return whether a digest in a placeholder is that of this secret. Needs no scanner."""
        return digest == secret_digest(_seen(secret), self._key)

    @cached_property
    def _rules(self) -> tuple[SecretRule, ...]:
        if not self.redacts_persons:
            return RULES
        from turnetl.redact.pii import PII_RULES  # noqa: PLC0415 - only on request

        return (*RULES, *PII_RULES)

    @cached_property
    def _engine(self) -> "RedactionEngine":
        from turnetl.redact.engine import RedactionEngine  # noqa: PLC0415 - only with a text

        return RedactionEngine(self._rules, self._key, pii=self.redacts_persons)


def _seen(secret: str) -> bytes:
    from turnetl.redact.normalised import undisguised  # noqa: PLC0415 - only with a text

    return undisguised(secret.encode("utf-8", "surrogatepass"))
