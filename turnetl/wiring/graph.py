"""The graph that the settings name."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from turnetl.graph import open as graphs
from turnetl.settings import Settings
from turnetl.settings.credentials import check_password_encrypted

if TYPE_CHECKING:  # a search of a current index does without it
    from turnetl.graph.port import GraphStore


@asynccontextmanager
async def store(
    settings: Settings, *, write: bool, wait: bool = True
) -> "AsyncIterator[GraphStore]":
    """Open the graph, and close it afterwards. No other machine gets the password unencrypted."""
    graphs.check_url(settings.graph_url)
    check_password_encrypted(settings)
    password = settings.graph_password
    graph = await graphs.open_graph(
        settings.graph_url,
        user=settings.graph_user,
        password=password.get_secret_value() if password else "",
        write=write,
        wait=wait,
        timeout_seconds=settings.graph_timeout_seconds,
    )
    try:
        yield graph
    finally:
        await graph.close()
