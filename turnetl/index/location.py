"""Where the index of a graph is, and what it was made with."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from turnetl import ids
from turnetl.errors import IndexUnusable

FOLDER = "index"
"""Name of the folder in the lake that holds the indexes of all graphs."""


def index_folder(lake: Path, graph_url: str) -> Path:
    """Return the folder of the index of a graph. User and password make no difference."""
    parts = urlsplit(graph_url)
    address = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    return lake / FOLDER / ids.digest(address)


@dataclass(frozen=True, slots=True)
class Made:
    """What an index was made with: vectors of another embedder cannot be compared."""

    embedder: str
    dimensions: int


def check_embedder(made: Made, configured: Made) -> None:
    """Check that an index can be compared with vectors of the configured embedder.

    Raises:
        IndexUnusable: it was made with another one, or with another number of dimensions.
    """
    if made != configured:
        raise IndexUnusable(
            f"the search index was made with the embedder `{made.embedder}` of {made.dimensions} "
            f"dimensions, and `{configured.embedder}` of {configured.dimensions} is configured: "
            "run `turnetl index --rebuild`, or restore the setting"
        )
