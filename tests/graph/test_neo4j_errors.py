"""Every error of Neo4j's driver becomes a sentence that says what to do."""

import pytest
from neo4j.exceptions import (
    AuthError,
    ConfigurationError,
    DriverError,
    Neo4jError,
    ServiceUnavailable,
    TransientError,
)

from turnetl.base.errors import GraphBusy, GraphUnusable
from turnetl.graph.neo4j.client import TransactionTimedOut, translate_errors

ADDRESS = "bolt://graph.example:7687"


def server_error(code: str, message: str = "no such thing") -> Neo4jError:
    return Neo4jError._hydrate_neo4j(code=code, message=message)  # noqa: SLF001 - as the driver does


@pytest.mark.parametrize(
    ("error", "becomes", "advice"),
    [
        (AuthError("no"), GraphUnusable, "set TURNETL_GRAPH_USER and TURNETL_GRAPH_PASSWORD"),
        (ServiceUnavailable("no route"), GraphBusy, "check that it is running"),
        (TransientError("deadlock"), GraphBusy, "run again"),
        (TimeoutError(), GraphBusy, "TURNETL_GRAPH_TIMEOUT_SECONDS sets the limit"),
        (
            server_error("Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration"),
            TransactionTimedOut,
            "no other program holds a lock",
        ),
        (
            ConfigurationError("unknown scheme"),
            GraphUnusable,
            "(unknown scheme); set TURNETL_GRAPH to",
        ),
        (DriverError("odd"), GraphUnusable, "(odd); check that it is version 5.26 or later"),
        (
            server_error("Neo.ClientError.Security.Forbidden", "Access denied"),
            GraphUnusable,
            "that user `kim` may read, write and create indexes",
        ),
        (
            server_error("Neo.ClientError.Security.CredentialsExpired"),
            GraphUnusable,
            "ALTER CURRENT USER SET PASSWORD",
        ),
        (
            server_error("Neo.TransientError.General.MemoryPoolOutOfMemoryError"),
            GraphUnusable,
            "raise `dbms.memory.transaction.total.max`",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_an_error_names_the_server_and_says_what_to_do(
    error: Exception, becomes: type[Exception], advice: str
) -> None:
    with pytest.raises((GraphBusy, GraphUnusable)) as raised, translate_errors(ADDRESS, "kim"):
        raise error
    assert type(raised.value) is becomes
    assert ADDRESS in str(raised.value)
    assert advice in str(raised.value)
    assert raised.value.__cause__ is error


def test_a_message_of_the_server_is_truncated_to_its_first_line() -> None:
    error = DriverError("x" * 500 + "\nsecond line")
    with pytest.raises(GraphUnusable) as raised, translate_errors(ADDRESS, "kim"):
        raise error
    assert "x" * 160 in str(raised.value)
    assert "x" * 161 not in str(raised.value)
    assert "second line" not in str(raised.value)
