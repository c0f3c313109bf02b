"""The search index of the graph that the settings name."""

import logging
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from turnetl.graph.open import embedded_file
from turnetl.index import persistent
from turnetl.index.catalog_state import BUSY_TIMEOUT
from turnetl.index.files import DamagedIndex, IndexEmbedder, index_folder
from turnetl.index.persistent import PersistentIndex
from turnetl.index.session_index import SessionIndex, session_index_folder
from turnetl.index.snapshot import IndexSnapshot, open_snapshot
from turnetl.llm.embedders import Embedder
from turnetl.settings import Settings
from turnetl.wiring.embedding import is_remote, open_chosen_embedder

log = logging.getLogger(__name__)


def _folder(settings: Settings) -> Path:
    return index_folder(settings.lake, settings.graph_url)


def search_index(settings: Settings, embedder: Embedder) -> PersistentIndex:
    """Open the index, or create an empty one.

    Raises:
        DamagedIndex: a file is damaged or missing: see `repair_index`.
        IndexUnusable: it is of another version or another embedder, or cannot be written.
    """
    return PersistentIndex(
        _folder(settings),
        embedder.name,
        _dimensions(settings, embedder),
        open_embedder=open_chosen_embedder,
    )


def session_index(
    settings: Settings, embedder: Embedder, *, create: bool = False
) -> SessionIndex | None:
    """Open the index of session-level episodes; without `create` None if there is none."""
    folder = session_index_folder(_folder(settings))
    if not create and not persistent.index_exists(folder):
        return None
    return SessionIndex(folder, embedder.name, _dimensions(settings, embedder))


def _dimensions(settings: Settings, embedder: Embedder) -> int:
    """Return the dimensions of the embedder; those of the index if the settings name none.

    A server is asked for them only if there is no index of this embedder.
    """
    if settings.embedder.dimensions is None and is_remote(settings):
        # A damaged catalog is an error of the index that is opened next.
        with suppress(DamagedIndex), index_snapshot(settings) as snapshot:
            if snapshot is not None and (recorded := snapshot.embedder()).name == embedder.name:
                return recorded.dimensions
    return embedder.dimensions


def index_snapshot(
    settings: Settings, *, busy_timeout: float = BUSY_TIMEOUT
) -> AbstractContextManager[IndexSnapshot | None]:
    """Open the index for reading, without an embedder; None if there is none.

    Raises:
        DamagedIndex: it is no index.
        IndexBusy: another process has the catalog locked for longer than the timeout, in seconds.
    """
    return open_snapshot(_folder(settings), busy_timeout=busy_timeout)


def check_index(
    settings: Settings, embedder: Embedder, *, busy_timeout: float = BUSY_TIMEOUT
) -> None:
    """Check that a search would use the index as it is. Sends no request.

    The dimensions of the embedder are compared as far as the settings name them.

    Raises:
        DamagedIndex: a file is damaged or missing: a search rebuilds it.
        IndexUnusable: a search refuses it.
    """
    with index_snapshot(settings, busy_timeout=busy_timeout) as snapshot:
        dimensions = settings.embedder.dimensions or (
            snapshot.embedder().dimensions if snapshot else 0
        )
    PersistentIndex(_folder(settings), embedder.name, dimensions).close()


def has_index(settings: Settings) -> bool:
    return persistent.index_exists(_folder(settings))


def index_id(settings: Settings) -> str | None:
    """Return the id of the index, which a rebuild changes; None if it cannot be read."""
    return persistent.index_id(_folder(settings))


def repair_index(
    settings: Settings, embedder: Embedder, error: DamagedIndex, damaged_id: str | None
) -> bool:
    """Replace a damaged index, and log why; return False if another process replaced it meanwhile.

    `damaged_id` is the id of the index before the damage was found.

    Raises:
        IndexBusy: another process writes it.
        IndexUnusable: a file cannot be deleted.
    """
    index_embedder = IndexEmbedder(embedder.name, embedder.dimensions)
    is_replaced = persistent.repair_index(_folder(settings), index_embedder, damaged_id)
    if is_replaced:
        log.warning("%s; it is rebuilt from the graph", error.damage)
    return is_replaced


def replace_index(settings: Settings, embedder: Embedder) -> None:
    """Replace the index, whatever its state, by an empty one; it raises what `repair_index` raises.

    Questions of turns are kept as far as they can be read: the graph does not hold them.
    """
    index_embedder = IndexEmbedder(embedder.name, embedder.dimensions)
    persistent.replace_index(_folder(settings), index_embedder)


def graph_state(settings: Settings) -> str | None:
    """Return a text that changes with every write to an embedded graph.

    Returns None for a graph on a server, and for a file that does not exist.
    """
    path = embedded_file(settings.graph_url)
    if path is None or not path.exists():
        return None
    files = [path, path.with_name(f"{path.name}.wal")]
    states = (file.stat() for file in files if file.exists())
    return " ".join(f"{state.st_size}:{state.st_mtime_ns}" for state in states)


def missing_graph(settings: Settings) -> Path | None:
    """Return the file of an embedded graph that does not exist; None if there is a graph."""
    path = embedded_file(settings.graph_url)
    return path if path is not None and not path.exists() else None
