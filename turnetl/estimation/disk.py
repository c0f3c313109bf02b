"""How many bytes an ingest adds, from what is there or from what other graphs took."""

from collections.abc import Mapping
from pathlib import Path

from turnetl.ingestion.estimate_record import Range

_MIN_TURNS = 50
"""Turns from which the size of a file says what a turn takes: a file has a size without any."""
_SPREAD = 2.0
_GRAPH_BYTES = Range(15_000, 60_000, 200_000)
_INDEX_BYTES = Range(3_000, 12_000, 40_000)
"""Of a turn, in a graph and an index that are new."""
_JOURNAL_ROW_BYTES, _TOKEN_BYTES = 400, 4


def disk_growth(
    turns: int,
    committed: int,
    *,
    graph: Path | None,
    index: Path,
    requests: Range,
    completion_tokens: Range,
) -> Mapping[str, Range]:
    """Return the bytes that each part of the data will grow by, in whole ones.

    Args:
        turns: to ingest.
        committed: turns that graph and index hold now.
        graph: the file of an embedded graph; None: the graph is on a server, and is left out.
        index: the folder of the index.
        requests: to send.
        completion_tokens: of their responses.
    """
    journal = requests * _JOURNAL_ROW_BYTES + completion_tokens * _TOKEN_BYTES
    parts = {
        **({"graph": _per_turn(graph, committed, _GRAPH_BYTES) * turns} if graph else {}),
        "index": _per_turn(index, committed, _INDEX_BYTES) * turns,
        "journal": journal,
    }
    return {name: round(part, 0) for name, part in parts.items() if part.expected}


def _per_turn(path: Path, committed: int, otherwise: Range) -> Range:
    if committed < _MIN_TURNS:
        return otherwise
    mean = _size(path) / committed
    return Range(mean / _SPREAD, mean, mean * _SPREAD) if mean else otherwise


def _size(path: Path) -> int:
    """Return the bytes of a file or of the files of a folder; 0 if there is none."""
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
