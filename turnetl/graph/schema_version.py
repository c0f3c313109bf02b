"""The version of turnetl's data in a graph, recorded on every TurnGroup."""

from turnetl.base import schema
from turnetl.base.errors import GraphUnusable

CURRENT = schema.RECEIPTS.version


def other_version(graph: str, version: int | None) -> GraphUnusable:
    """Return the error for a graph of another version.

    Args:
        graph: path or address of the graph, without a password.
        version: the recorded version; None if none is recorded, as before version 4.
    """
    is_newer = version is not None and version > CURRENT
    recorded = "an older graph schema" if version is None else f"graph schema {version}"
    remedy = (
        "update turnetl, for example with `pip install -U turnetl`"
        if is_newer
        else "name a new graph with --graph, and ingest again; keep this one: the turnetl that "
        "wrote it reads it"
    )
    return GraphUnusable(
        f"graph `{graph}` was written by another version of turnetl ({recorded}; this version uses "
        f"{CURRENT}); {remedy}"
    )
