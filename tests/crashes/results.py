"""What a command leaves, in a form that is equal after equal commands."""

import hashlib
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from tests.crashes.trial_context import TrialContext
from tests.graph.graph_dump import dump_graph
from turnetl import pipeline
from turnetl.graph.ladybug.log import log_files
from turnetl.graph.open import open_graph
from turnetl.lake import LocalFiles
from turnetl.lake.forgotten import read_forgotten

QUERY = "which tests use sqlite"

_LOG = re.compile(r"(-wal|-shm|-journal)$|\.wal")
_OF_A_RUN = re.compile(
    r'\\*"(seconds|created_at|expired_at|failed_at|run_id)\\*": ?(\\*"[^"\\]*\\*"|[\d.]+)'
)
"""What differs between two runs: when it was, and how long it took."""

_NUMBER = re.compile(r'"sequence":(\d+)')

Result = dict[str, list[str]]
"""What a command leaves, by kind: lines that are equal after equal commands."""


async def result(place: TrialContext, *, graph: bool) -> Result:
    """Return what there is in a place: tables, files, graph, responses and hits."""
    found: Result = {}
    if graph and _has_graph(place):
        found["hits"] = await _hits(place)
        await _repair(place)
        found["graph"] = await canonical_graph(place.url)
    return found | {
        "files": _files(place.lake),
        "tables": [_digest(path) for path in sorted(place.lake.rglob("*.parquet"))],
        "quarantine": _quarantine(place.lake),
        "responses": responses(place.lake / "journal.sqlite"),
        "forgotten": _forgotten(place.lake),
    }


async def canonical_graph(url: str) -> list[str]:
    """Return a line for each node and edge, without what differs between two runs."""
    return [_OF_A_RUN.sub("", line) for line in await dump_graph(url)]


def renumbered(found: Result) -> Result:
    """Return the result with the commits of the graph numbered from 1, in their order."""
    numbers = sorted({int(number) for line in found["graph"] for number in _NUMBER.findall(line)})
    lines = [
        _NUMBER.sub(lambda match: f'"sequence":{numbers.index(int(match[1])) + 1}', line)
        for line in found["graph"]
    ]
    return found | {"graph": sorted(lines)}


def differences(expected: Result, found: Result) -> list[str]:
    """Return the lines that only one of two results has, with its sign."""
    return [
        f"{kind}: {sign} {line}"
        for kind in sorted({*expected, *found})
        for sign, lines, others in (
            ("-", expected.get(kind, []), found.get(kind, [])),
            ("+", found.get(kind, []), expected.get(kind, [])),
        )
        for line in _surplus(lines, others)
    ]


def responses(journal: Path) -> list[str]:
    """Return the key and the prompt of each response in a journal, if it exists."""
    if not journal.exists():
        return []
    with closing(sqlite3.connect(journal)) as connection:
        rows = connection.execute("SELECT key, prompt_name FROM responses ORDER BY key")
        return [" ".join(row) for row in rows]


def _surplus(lines: Sequence[str], others: Sequence[str]) -> list[str]:
    rest = list(others)
    surplus = []
    for line in lines:
        if line in rest:
            rest.remove(line)
        else:
            surplus.append(line)
    return surplus


def _has_graph(place: TrialContext) -> bool:
    return place.graph is not None or (place.lake / "graph.lbug").exists()


async def _repair(place: TrialContext) -> None:
    """Open the graph for writing: a torn log, which readers ignore, is repaired by a writer."""
    if place.graph is None and log_files(place.lake / "graph.lbug"):
        store = await open_graph(place.url, user="", password="", write=True)
        await store.close()


def _files(lake: Path) -> list[str]:
    """Return the names of the files, without logs of databases and copies of damaged logs."""
    names = (str(path.relative_to(lake)) for path in lake.rglob("*") if path.is_file())
    return sorted(name for name in names if not name.startswith("index/") and not _LOG.search(name))


def _digest(path: Path) -> str:
    return f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}"


def _quarantine(lake: Path) -> list[str]:
    text = "\n".join(path.read_text() for path in sorted(lake.glob("quarantine/*/*.json")))
    return _OF_A_RUN.sub("", text).splitlines()


def _forgotten(lake: Path) -> list[str]:
    """Return what the list of forgotten turns says; its digests have a random key."""
    found = read_forgotten(LocalFiles(lake))
    return [f"{len(found.turns)} turns, {len(found.sessions)} sessions, {found.is_complete}"]


async def _hits(place: TrialContext) -> list[str]:
    found = await pipeline.search_turns(QUERY, place.settings(), place.clock)
    return [str(hit) for hit in found.hits]
