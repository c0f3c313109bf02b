"""Errors, classified by what the user or a run can do about them.

    TurnetlError
    ├── Skip        skip and count one item; the run continues
    │   ├── BadArchive      an archive that cannot be read
    │   └── BadTurn         a turn that cannot be ingested: it is quarantined
    │       └── TooLong     a request or its response does not fit: smaller chunks may
    ├── Retryable   the same operation may succeed later: back off and try again
    │   ├── ArchivesBusy    the object store of archives did not respond
    │   ├── GraphBusy       the graph did not respond, or another writer holds the group
    │   ├── IndexBusy       another process writes the search index
    │   ├── LakeBusy        the object store of the lake did not respond
    │   │   └── LakeChanged     another process replaced a file of the lake in the meantime
    │   └── ModelBusy       the provider is overloaded, limits the rate or did not respond in time
    └── Fatal       a retry cannot succeed: the user must act
        ├── BadUsage         invalid arguments or settings (exit code 2)
        ├── GraphUnusable    the graph cannot be used in its current state
        ├── ModelUnusable    the provider cannot be used as it is configured
        ├── TableUnusable    a table of the lake is damaged: a run creates it again
        ├── JournalUnusable  the journal of model responses cannot be read or written
        ├── IndexUnusable    the search index cannot be read or written
        └── RunStopped       stopped by the circuit breaker or a time, resumable (exit code 4)
            └── BudgetExhausted  stopped by the budget

A message is one sentence for a terminal: what happened, to what, and what to do.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from turnetl.base.exit_code import ExitCode
from turnetl.base.model import Usage
from turnetl.base.reason import SkipReason

TRACEBACK = "which --debug prints and the log has at level INFO"
"""How a user gets the traceback of an unexpected error in an archive or a turn."""


class TurnetlError(Exception):
    """Base class of all errors that turnetl raises on purpose."""

    exit_code = ExitCode.FAILED

    @property
    def lines(self) -> Sequence[str]:
        """The message as it is printed; one that lists things has a line for each."""
        return [str(self)]


class Skip(TurnetlError):
    """An archive or turn is skipped and counted; the rest continues."""


class BadArchive(Skip):
    """An archive that cannot be read."""

    def __init__(self, reason: SkipReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        """The reason under which reports count the archive."""


class BadTurn(Skip):
    """A turn that cannot be ingested: it is quarantined."""

    def __init__(
        self,
        message: str,
        usage: Usage | None = None,
        *,
        problem: str = "",
        provider_message: str = "",
    ) -> None:
        super().__init__(message)
        self.usage = usage or Usage()
        """Usage of the failed requests of the turn."""
        self.problem = problem or message
        """The message without the names of model and prompt."""
        self.provider_message = provider_message
        """The provider's own message, if it rejected the request."""


class TooLong(BadTurn):
    """A request or its response does not fit into the context window: smaller chunks may."""


class Retryable(TurnetlError):
    """The same operation may succeed later."""


class ArchivesBusy(Retryable):
    """The object store of archives did not respond."""


class GraphBusy(Retryable):
    """The graph did not respond, or another writer holds the group."""


class IndexBusy(Retryable):
    """Another process writes the search index."""


class LakeBusy(Retryable):
    """The object store of the lake did not respond."""


class LakeChanged(LakeBusy):
    """Another process replaced a file of the lake in the meantime."""


class ModelBusy(Retryable):
    """The provider is overloaded, limits the rate or did not respond in time."""

    def __init__(
        self, message: str, retry_after: float | None = None, *, timed_out: bool = False
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Seconds, if the provider sent them."""
        self.timed_out = timed_out
        """Whether the provider accepted the request and sent no response before the timeout."""


class Fatal(TurnetlError):
    """The user must act first: a retry cannot succeed."""


class BadUsage(Fatal):
    """Invalid arguments or settings."""

    exit_code = ExitCode.USAGE


class GraphUnusable(Fatal):
    """The graph cannot be used in its current state."""


class ModelUnusable(Fatal):
    """The provider cannot be used as it is configured."""


class TableUnusable(Fatal):
    """A table of the lake is damaged or has other columns."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.path = path
        """The file."""

    def __reduce__(self) -> tuple[type["TableUnusable"], tuple[Path, str]]:
        # A worker process sends the error to its parent.
        return type(self), (self.path, str(self))


class JournalUnusable(Fatal):
    """The journal of model responses cannot be read or written in its current state."""


class IndexUnusable(Fatal):
    """The search index cannot be read or written in its current state."""


class RunStopped(Fatal):
    """Stopped by the budget, a time or the circuit breaker. The next run continues from here."""

    exit_code = ExitCode.STOPPED


class BudgetExhausted(RunStopped):
    """Stopped by the budget."""


_Error = TypeVar("_Error", bound=Exception)


def equal_error(error: _Error) -> _Error:
    """Return an equal error that can be raised again: each raising adds frames to a traceback."""
    # The constructors of some errors take other arguments than the message. Not copy(): Dask
    # registers a reducer of errors whose copies share their attributes.
    equal = type(error).__new__(type(error), *error.args)
    equal.__dict__.update(error.__dict__)
    equal.__cause__ = error.__cause__
    return equal
