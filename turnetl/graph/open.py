"""From a URL to a store."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from turnetl.errors import BadUsage
from turnetl.graph.port import GraphStore

_NEO4J = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")


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
    parts = urlsplit(url)
    if parts.scheme == "ladybug":
        from turnetl.graph.ladybug import LadybugStore  # noqa: PLC0415 - only the one in use

        return await LadybugStore.open(_path(url), write=write)
    if parts.scheme in _NEO4J and parts.hostname:
        from turnetl.graph.neo4j import Neo4jStore  # noqa: PLC0415 - only the one in use

        host = parts.netloc.rpartition("@")[2]
        return await Neo4jStore.open(
            f"{parts.scheme}://{host}",
            user=unquote(parts.username or user),
            password=unquote(parts.password or password),
        )
    raise BadUsage(
        f"`{parts.scheme or url}` is no kind of graph; use `ladybug:///path/to/graph.lbug` or "
        "`bolt://host:7687` (or neo4j://, neo4j+s://)"
    )


def _path(url: str) -> Path:
    """Return what stands behind `ladybug://`, as it stands: a path is not decoded."""
    path = url.removeprefix("ladybug://")
    if not path or path.endswith("/"):
        raise BadUsage(f"`{url}` names no file; use `ladybug:///path/to/graph.lbug`")
    return Path(path).expanduser()
