"""Open the driver of a Neo4j server."""

from collections.abc import Generator
from contextlib import contextmanager

from neo4j import AsyncDriver, AsyncGraphDatabase
from neo4j.exceptions import (
    AuthError,
    ConfigurationError,
    DriverError,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
)

from turnetl.base.errors import GraphBusy, GraphUnusable

CONNECT_TIMEOUT = 5.0
"""Seconds."""


def open_driver(address: str, *, user: str, password: str, timeout_seconds: float) -> AsyncDriver:
    """Return a driver. It connects at its first use.

    Args:
        address: of the server, without a password.
        user: the Neo4j user; empty: without authentication.
        password: of the user.
        timeout_seconds: limit of connecting and of each of its retries.

    Raises:
        GraphUnusable: the address is invalid.
    """
    with translate_errors(address, user):
        return AsyncGraphDatabase.driver(
            address,
            auth=(user, password) if user else None,
            connection_timeout=min(CONNECT_TIMEOUT, timeout_seconds),
            connection_acquisition_timeout=min(4 * CONNECT_TIMEOUT, timeout_seconds),
            max_transaction_retry_time=timeout_seconds,
            notifications_min_severity="OFF",
            telemetry_disabled=True,
            user_agent="turnetl",
        )


_TOO_MANY_ATTEMPTS = "Neo.ClientError.Security.AuthenticationRateLimit"
_INITIAL_PASSWORD = "Neo.ClientError.Security.CredentialsExpired"  # noqa: S105 - an error code
_ALREADY_EXISTS = (
    "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists",
    "Neo.ClientError.Schema.ConstraintAlreadyExists",
    "Neo.ClientError.Schema.IndexAlreadyExists",
)
_OUT_OF_MEMORY = "MemoryPoolOutOfMemory"
_ENDED = tuple(
    f"Neo.{kind}.Transaction.{name}"
    for kind in ("ClientError", "TransientError")
    for name in (
        "TransactionTimedOut",
        "TransactionTimedOutClientConfiguration",
        "Terminated",
        "LockClientStopped",
        "LockAcquisitionTimeout",
    )
)
"""The server ended the transaction, for example while it waited for a lock."""
LIMIT = "TURNETL_GRAPH_TIMEOUT_SECONDS sets the limit"


class TransactionTimedOut(GraphBusy):
    """The server ended a transaction that took too long; nothing of it was written."""


class AlreadyExists(GraphUnusable):
    """Another process created the index or constraint meanwhile."""


@contextmanager
def translate_errors(address: str, user: str) -> Generator[None]:
    """Raise the driver's exceptions as turnetl's errors.

    Args:
        address: of the server, without a password.
        user: the Neo4j user.

    Raises:
        TransactionTimedOut: the server ended the transaction.
        GraphBusy: no answer, or an error that a retry may avoid.
        GraphUnusable: wrong password, or the server cannot execute the statement.
    """
    try:
        yield
    except AuthError as error:
        raise GraphUnusable(_authentication_message(address, user, error)) from error
    except TimeoutError as error:
        raise GraphBusy(
            f"Neo4j at `{address}` does not respond; check that it is running and not overloaded, "
            f"then run again ({LIMIT})"
        ) from error
    except (ServiceUnavailable, SessionExpired, OSError) as error:
        raise GraphBusy(
            f"Neo4j at `{address}` does not respond; check that it is running and that the address "
            f"is correct, then run again ({_first_line(error)})"
        ) from error
    except ConfigurationError as error:
        raise GraphUnusable(
            f"Neo4j address `{address}` is invalid ({_first_line(error)}); set TURNETL_GRAPH to an "
            "address such as bolt://host:7687"
        ) from error
    except (Neo4jError, DriverError) as error:
        raise _other_error(address, user, error) from error


def _authentication_message(address: str, user: str, error: AuthError) -> str:
    if error.code == _TOO_MANY_ATTEMPTS:
        return (
            f"Neo4j at `{address}` received too many wrong passwords; wait a minute and run again"
        )
    return (
        f"Neo4j at `{address}` does not accept user `{user}` with this password; "
        "set TURNETL_GRAPH_USER and TURNETL_GRAPH_PASSWORD"
    )


def _other_error(
    address: str, user: str, error: Neo4jError | DriverError
) -> GraphBusy | GraphUnusable:
    code = getattr(error, "code", None) or ""
    if code in _ALREADY_EXISTS:
        return AlreadyExists(f"Neo4j at `{address}`: {_first_line(error)}")
    if code == _INITIAL_PASSWORD:
        return GraphUnusable(
            f"Neo4j at `{address}` requires its initial password to be changed before use: "
            "ALTER CURRENT USER SET PASSWORD FROM 'old' TO 'new'"
        )
    if _OUT_OF_MEMORY in code:
        # The driver calls it transient, but the same transaction would fail again.
        return GraphUnusable(
            f"Neo4j at `{address}` has too little memory for one turn; raise "
            "`dbms.memory.transaction.total.max` or the heap"
        )
    if code in _ENDED:
        return TransactionTimedOut(
            f"Neo4j at `{address}` ended a transaction that took too long; make sure that no other "
            f"program holds a lock and that the server is not overloaded, then run again ({LIMIT})"
        )
    if error.is_retryable():
        return GraphBusy(f"Neo4j at `{address}` is busy: {_first_line(error)}; run again")
    reason = f"{code} {_first_line(error)}".strip()
    return GraphUnusable(
        f"Neo4j at `{address}` rejected a statement ({reason}); check that it is "
        f"version 5.26 or later and that user `{user}` may read, write and create indexes"
    )


def _first_line(error: BaseException) -> str:
    """Return a truncated message, so that no text of a turn gets into it."""
    # Errors of the driver have a general sentence in `message`, and their own in `str`.
    message = error.message if isinstance(error, Neo4jError) else str(error)
    lines = (message or "").splitlines() or [type(error).__name__]
    return lines[0][:160]
