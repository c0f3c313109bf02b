"""Where the index of a graph is, and its embedder."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from turnetl.base import ids
from turnetl.base.errors import IndexUnusable
from turnetl.graph.open import embedded_file

FOLDER = "index"
"""Name of the folder in the lake that holds the indexes of all graphs."""


def index_folder(lake: Path, graph_url: str) -> Path:
    """Return the folder of the index of a graph.

    User and password make no difference. The file of a graph in the lake counts by its path there,
    so that a lake that is moved or copied keeps its index.
    """
    file = embedded_file(graph_url)
    if file is not None and file.resolve().is_relative_to(lake.resolve()):
        address = file.resolve().relative_to(lake.resolve()).as_posix()
    else:
        parts = urlsplit(graph_url)
        address = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    return lake / FOLDER / ids.digest(address)


def lake_of(folder: Path) -> Path:
    """Return the lake that the folder of an index is in."""
    return folder.parent.parent


@dataclass(frozen=True, slots=True)
class IndexEmbedder:
    """The embedder of an index: vectors of another one cannot be compared."""

    name: str
    dimensions: int


def check_embedder(recorded: IndexEmbedder, configured: IndexEmbedder) -> None:
    """Check that an index can be compared with vectors of the configured embedder.

    Raises:
        IndexUnusable: it was made with another one, or with another number of dimensions.
    """
    if recorded != configured:
        raise IndexUnusable(
            f"the search index was made with the embedder `{recorded.name}` of "
            f"{recorded.dimensions} dimensions, and `{configured.name}` of "
            f"{configured.dimensions} is configured: run `turnetl index --rebuild`, or "
            "restore the setting"
        )
