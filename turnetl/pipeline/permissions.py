"""The permissions of everything that holds texts or keys."""

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path

from turnetl import wiring
from turnetl.base import loose_files as rights
from turnetl.base.loose_files import LooseFile
from turnetl.graph.open import embedded_file
from turnetl.settings import Settings, secret_files

_log = logging.getLogger(__name__)


def loose_files(settings: Settings, config: Path | None) -> tuple[LooseFile, ...]:
    """Return what of lake, graph, trust store and configuration too many users may use, sorted.

    Args:
        settings: the lake, which contains index and journal, and the graph.
        config: a config file beside those in the usual places.
    """
    return tuple(sorted(set(_loose_files(settings, config))))


def take_rights_away(files: Iterable[LooseFile]) -> int:
    """Take the rights away that are too many; return the number of files."""
    count = 0
    for file in files:
        try:
            rights.tighten(file)
        except OSError as error:
            _log.warning("`%s` keeps its permissions: %s", file.path, error.strerror)
        else:
            count += 1
    return count


def _loose_files(settings: Settings, config: Path | None) -> Iterator[LooseFile]:
    for folder in dict.fromkeys([settings.lake, wiring.lake(settings).root]):
        yield from rights.loose_in_lake(folder)
    graph = embedded_file(settings.graph_url)
    if graph is not None and not graph.resolve().is_relative_to(settings.lake.resolve()):
        yield from rights.loose_beside(graph)
    for path in secret_files(config):
        yield from rights.loose_private(path)
