"""Open the graph at a URL."""

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from turnetl.base.errors import BadUsage
from turnetl.base.object_url import url_scheme
from turnetl.base.progress import Progress
from turnetl.graph.upgrade_report import GraphUpgrade

if TYPE_CHECKING:  # a search of a current index does without these
    from turnetl.graph.port import GraphStore
    from turnetl.llm.shared_limits.store import LimitsStore

_NEO4J = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
_LADYBUG = "ladybug://"
_LIMITS_SECONDS = 10.0
"""For which requests to a model wait for their limits, which are updated in milliseconds."""


async def open_graph(
    url: str,
    *,
    user: str,
    password: str,
    write: bool = True,
    wait: bool = True,
    timeout_seconds: float = 30.0,
) -> "GraphStore":
    """Open the graph at `url` and check that it answers.

    Args:
        url: `ladybug:///path/to/file` or a Neo4j address. A user and password in it take
            precedence.
        user: for Neo4j, with `password`.
        password: of the user.
        write: False opens an embedded graph read-only, beside other readers; a file that does not
            exist then counts as an empty graph and is not created.
        wait: for a moment, for another process that has an embedded graph open.
        timeout_seconds: limit of a transaction that writes to Neo4j, of its waits for locks, and of
            each answer of the server.

    Raises:
        BadUsage: the URL is neither.
        GraphBusy: no answer, or another process has the file open.
        GraphUnusable: wrong password, a file that is not a graph, or a graph of another version.
    """
    check_url(url)
    if url.startswith(_LADYBUG):
        from turnetl.graph.ladybug.store import (  # noqa: PLC0415 - only the one in use
            LadybugStore,
        )

        return await LadybugStore.open(_path(url), write=write, wait=wait)
    from turnetl.graph.neo4j.store import Neo4jStore  # noqa: PLC0415 - only the one in use

    address, name, secret = _server(url, user, password)
    return await Neo4jStore.open(
        address, user=name, password=secret, timeout_seconds=timeout_seconds
    )


def _server(url: str, user: str, password: str) -> tuple[str, str, str]:
    """Return the address of a server, without a password, and the login."""
    parts = urlsplit(url)
    return (
        f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}",
        *login(url, user=user, password=password),
    )


def server_limits(
    url: str, *, user: str, password: str, timeout_seconds: float = 30.0
) -> "LimitsStore | None":
    """Return where processes that use the same server share limits; None if there is no server.

    Connects to nothing. Arguments as of `open_graph`.
    """
    if url.startswith(_LADYBUG):
        return None
    from turnetl.graph.neo4j.client import (  # noqa: PLC0415 - only the one in use
        Neo4jClient,
        open_driver,
    )
    from turnetl.graph.neo4j.limits import Neo4jLimits  # noqa: PLC0415 - as above

    address, name, secret = _server(url, user, password)
    seconds = min(timeout_seconds, _LIMITS_SECONDS)

    def open_client() -> Neo4jClient:
        driver = open_driver(address, user=name, password=secret, timeout_seconds=seconds)
        return Neo4jClient(driver, address=address, user=name, timeout_seconds=seconds)

    return Neo4jLimits(open_client, address)


def login(url: str, *, user: str, password: str) -> tuple[str, str]:
    """Return user and password of a server: those in the URL, percent-decoded, else the given ones.

    A given password is taken as it is, with every `%`.
    """
    parts = urlsplit(url)
    in_url = (parts.username, parts.password)
    name, secret = (unquote(one) if one else None for one in in_url)
    return name or user, secret or password


def rewrite_graph(url: str) -> bool:
    """Rewrite the file of an embedded graph, without the bytes of what was deleted from it.

    Returns False if the graph is on a server: nothing is known about the server's files. Raises as
    `rewrite_file`.
    """
    path = embedded_file(url)
    if path is None:
        return False
    from turnetl.graph.ladybug.rewrite import rewrite_file  # noqa: PLC0415 - only the one in use

    rewrite_file(path)
    return True


def delete_older_files(url: str) -> None:
    """Delete what upgrades kept of an embedded graph, whose file may be gone."""
    path = embedded_file(url)
    if path is not None and path.parent.is_dir():
        from turnetl.graph.ladybug.swap import delete_kept  # noqa: PLC0415 - imports the database

        delete_kept(path)


def upgrade_graph(url: str, release: Path | None, progress: Progress) -> GraphUpgrade:
    """Carry the file of an embedded graph over into the installed release's storage version.

    Arguments and errors as of `upgrade_file`.

    Raises:
        BadUsage: the graph is on a server, or there is no graph.
    """
    check_url(url)
    path = embedded_file(url)
    if path is None:
        raise BadUsage(
            "the graph is on a server, which upgrades its own files; `turnetl graph upgrade` is "
            "for the file of an embedded graph"
        )
    if not path.exists():
        raise BadUsage(f"graph `{path}` does not exist; name its file with --graph")
    from turnetl.graph.ladybug.upgrade import upgrade_file  # noqa: PLC0415 - only the one in use

    return upgrade_file(path, release, progress)


def check_url(url: str) -> None:
    """Check that `url` can name a graph, without opening it.

    Raises:
        BadUsage: it cannot; the message shows a valid URL. It never contains the given URL of a
            server, which may include a password.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:  # it cannot be parsed, or its port is not a number
        parts = None
    if url.startswith(_LADYBUG):
        # The rest is a path as it is, not percent-encoded.
        if url == _LADYBUG or url.endswith("/"):
            raise BadUsage(f"`{url}` does not name a file; use `ladybug:///path/to/graph.lbug`")
        if url_scheme(url.removeprefix(_LADYBUG)):
            raise BadUsage(
                "the graph's URL holds a second URL, and an embedded graph is a file on this "
                "machine; use `ladybug:///path/to/graph.lbug`"
            )
        return
    if parts is None or parts.scheme not in _NEO4J or not parts.hostname:
        raise BadUsage(
            "the graph's URL has an unknown scheme or no host; use `ladybug:///path/to/graph.lbug` "
            "or `bolt://host:7687` (or neo4j://, neo4j+s://)"
        )
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise BadUsage(
            "the graph's URL continues after host and port; the database is always the user's home "
            "database, and a `/`, `@`, `?` or `#` in a password is written %2F, %40, %3F or %23"
        )


def embedded_file(url: str) -> Path | None:
    """Return the file of an embedded graph; None if the URL names a server."""
    return _path(url) if url.startswith(_LADYBUG) else None


def _path(url: str) -> Path:
    return Path(url.removeprefix(_LADYBUG)).expanduser()
