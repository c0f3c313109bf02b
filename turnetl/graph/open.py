"""From a URL to a store."""

from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from turnetl.errors import BadUsage
from turnetl.graph.port import GraphStore

_NEO4J = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
_LADYBUG = "ladybug://"


async def open_graph(url: str, *, user: str, password: str, write: bool = True) -> GraphStore:
    """Open the graph at `url` and see that it answers.

    Args:
        url: `ladybug:///path/to/file` or a Neo4j address. A user and password in it win.
        user: for Neo4j.
        password: for Neo4j.
        write: False opens an embedded graph for reading only, side by side with other readers; one
            that does not exist yet is empty then, and is not created.

    Raises:
        BadUsage: the URL is neither.
        GraphBusy: no answer, or another process has the file open.
        GraphRefused: wrong password, or the file is no graph.
    """
    check(url)
    if url.startswith(_LADYBUG):
        from turnetl.graph.ladybug import LadybugStore  # noqa: PLC0415 - only the one in use

        return await LadybugStore.open(_path(url), write=write)
    from turnetl.graph.neo4j import Neo4jStore  # noqa: PLC0415 - only the one in use

    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return await Neo4jStore.open(
        f"{parts.scheme}://{host}",
        user=unquote(parts.username or user),
        password=unquote(parts.password or password),
    )


def check(url: str) -> None:
    """See that `url` names a graph, without looking for it.

    Raises:
        BadUsage: it does not; says what would. Never names the URL whole: it may hold a password.
    """
    parts = _split(url)
    if url.startswith(_LADYBUG):
        # What follows is a path as it stands, not decoded.
        if url == _LADYBUG or url.endswith("/"):
            raise BadUsage(f"`{url}` names no file; use `ladybug:///path/to/graph.lbug`")
        return
    if parts is None or parts.scheme not in _NEO4J or not parts.hostname:
        raise BadUsage(
            "the graph's URL is of no known kind; use `ladybug:///path/to/graph.lbug` or "
            "`bolt://host:7687` (or neo4j://, neo4j+s://)"
        )
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise BadUsage(
            "the graph's URL goes on after host and port; the database is always the user's home "
            "database, and a `/`, `@`, `?` or `#` in a password is written %2F, %40, %3F or %23"
        )


def _path(url: str) -> Path:
    return Path(url.removeprefix(_LADYBUG)).expanduser()


def _split(url: str) -> SplitResult | None:
    """Return the URL's parts; None if it has none or its port is no number."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts
