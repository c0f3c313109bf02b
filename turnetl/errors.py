"""Errors, by what a person or a run can do about them.

    TurnetlError
    ├── Skip        this one thing is passed over and counted; everything else goes on
    │   ├── BadArchive      an archive that cannot be read
    │   └── BadTurn         a turn that cannot be ingested: quarantined
    │       └── TooLong     it did not fit: what is cut in two may
    ├── Later       the same thing may work in a moment: back off and try again
    │   ├── GraphBusy       the graph did not answer, or another writer holds the group
    │   └── ModelBusy       the provider asked for patience
    └── Stop        nothing will get better by itself: a person must act
        ├── BadUsage        arguments or settings that make no sense (exit code 2)
        ├── GraphRefused    the graph cannot be used as it is
        ├── ModelRefused    the provider cannot be used as it is
        ├── JournalRefused  the journal of model calls cannot be read or written
        └── Exhausted       budget or breaker: stopped cleanly, resumable (exit code 4)

Messages say what, where, and what to do, in one sentence that is fit for a terminal.
"""

from turnetl.exit_code import ExitCode
from turnetl.model import Usage


class TurnetlError(Exception):
    """The root: everything that turnetl raises on purpose."""

    exit_code = ExitCode.FAILED


class Skip(TurnetlError):
    """Pass over this one thing."""


class BadArchive(Skip):
    """An archive that cannot be read."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        """One word to count under, from `turnetl.parse`."""


class BadTurn(Skip):
    """A turn that cannot be ingested."""

    def __init__(
        self, message: str, usage: Usage | None = None, *, provider_message: str = ""
    ) -> None:
        super().__init__(message)
        self.usage = usage or Usage()
        """What the answers cost that were of no use."""
        self.provider_message = provider_message
        """The provider's own, where it refused a question."""


class TooLong(BadTurn):
    """A question or its answer did not fit: what is cut in two may."""


class Retryable(TurnetlError):
    """Try again in a moment."""


class GraphBusy(Retryable):
    """The graph did not answer, or another writer holds it."""


class ModelBusy(Retryable):
    """The provider asked for patience."""

    def __init__(
        self, message: str, retry_after: float | None = None, *, timed_out: bool = False
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Seconds, if the provider said so."""
        self.timed_out = timed_out
        """It took the question and did not answer in all the time that it had."""


class Fatal(TurnetlError):
    """A person must act."""


class BadUsage(Fatal):
    """Arguments or settings that make no sense."""

    exit_code = ExitCode.USAGE


class GraphRefused(Fatal):
    """The graph cannot be used as it is."""


class ModelRefused(Fatal):
    """The provider cannot be used as it is."""


class JournalRefused(Fatal):
    """The journal of model calls cannot be read or written as it is."""


class Exhausted(Fatal):
    """Stopped by budget or breaker; the next run goes on from here."""

    exit_code = ExitCode.STOPPED
