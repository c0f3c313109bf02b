"""What Neo4j's driver raises, as errors that say what to do."""

from collections.abc import Generator
from contextlib import contextmanager

from neo4j.exceptions import (
    AuthError,
    ConfigurationError,
    DriverError,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
)

from turnetl.errors import GraphBusy, GraphRefused

_TOO_OFTEN = "Neo.ClientError.Security.AuthenticationRateLimit"
_TO_BE_CHANGED = "Neo.ClientError.Security.CredentialsExpired"
_MADE_MEANWHILE = (
    "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists",
    "Neo.ClientError.Schema.ConstraintAlreadyExists",
    "Neo.ClientError.Schema.IndexAlreadyExists",
)
_OUT_OF_MEMORY = "MemoryPoolOutOfMemory"


class AlreadyThere(GraphRefused):
    """What was to be made in the schema was made meanwhile."""


@contextmanager
def translated(where: str, user: str) -> Generator[None]:
    """Raise the driver's errors as ours. `where` is the address, without a password.

    Raises:
        GraphBusy: no answer, or one that may be better the next time.
        GraphRefused: wrong password, or the server cannot do what it is asked.
    """
    try:
        yield
    except AuthError as error:
        raise GraphRefused(_unwelcome(where, user, error)) from error
    except (ServiceUnavailable, SessionExpired, OSError, TimeoutError) as error:
        raise GraphBusy(
            f"Neo4j at `{where}` does not answer; see that it is running and that the address is "
            f"right, then run again ({_first_line(error)})"
        ) from error
    except ConfigurationError as error:
        raise GraphRefused(f"Neo4j address `{where}`: {_first_line(error)}") from error
    except (Neo4jError, DriverError) as error:
        raise _other(where, error) from error


def _unwelcome(where: str, user: str, error: AuthError) -> str:
    if error.code == _TOO_OFTEN:
        return f"Neo4j at `{where}` was given a wrong password too often; wait a minute, try again"
    return (
        f"Neo4j at `{where}` does not accept user `{user}` with this password; "
        "set TURNETL_GRAPH_USER and TURNETL_GRAPH_PASSWORD"
    )


def _other(where: str, error: Neo4jError | DriverError) -> GraphBusy | GraphRefused:
    code = getattr(error, "code", None) or ""
    if code in _MADE_MEANWHILE:
        return AlreadyThere(f"Neo4j at `{where}`: {_first_line(error)}")
    if code == _TO_BE_CHANGED:
        return GraphRefused(
            f"Neo4j at `{where}` wants its first password changed before it can be used: "
            "ALTER CURRENT USER SET PASSWORD FROM 'old' TO 'new'"
        )
    if _OUT_OF_MEMORY in code:
        # Called transient, but the same transaction would run out of memory again.
        return GraphRefused(
            f"Neo4j at `{where}` has too little memory for one turn; raise "
            "`dbms.memory.transaction.total.max` or the heap"
        )
    if error.is_retryable():
        return GraphBusy(f"Neo4j at `{where}` is busy: {_first_line(error)}; run again")
    return GraphRefused(f"Neo4j at `{where}` refused: {code} {_first_line(error)}")


def _first_line(error: BaseException) -> str:
    """Cut short, so that no text of a turn gets into a message."""
    lines = str(getattr(error, "message", None) or error).splitlines() or [type(error).__name__]
    return lines[0][:160]
