"""Open the driver of a Neo4j server."""

from neo4j import AsyncDriver, AsyncGraphDatabase

from turnetl.graph.neo4j.errors import translate_errors

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
