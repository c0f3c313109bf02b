"""The commands of which every point is tried, each with the state before it and its result."""

import hashlib
import re
import shutil
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.cli.archives import conversation, write_archive
from tests.graph.graph_dump import dump_graph
from turnetl import pipeline
from turnetl.clock import now
from turnetl.errors import BadUsage, TurnetlError
from turnetl.exit_code import ExitCode
from turnetl.graph.open import open_graph
from turnetl.ingestion.redo_plan import RedoSelection
from turnetl.ingestion.undo_plan import UndoSelection
from turnetl.settings import Settings
from turnetl.settings.sections import ModelSettings

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
REFUSED = "an impossible turn"
"""In the prompt of a turn for which the provider has no valid response."""
QUERY = "which tests use sqlite"

_LOG = re.compile(r"(-wal|-shm|-journal)$|\.wal")
_OF_A_RUN = re.compile(
    r'\\*"(seconds|created_at|expired_at|failed_at|run_id)\\*": ?(\\*"[^"\\]*\\*"|[\d.]+)'
)
"""What differs between two runs: when it was, and how long it took."""

_NUMBER = re.compile(r'"sequence":(\d+)')

Result = dict[str, list[str]]
"""What a command leaves, by kind: lines that are equal after equal commands."""


@dataclass(frozen=True)
class TrialContext:
    """Where a command works."""

    folder: Path
    graph: str | None
    """URL of a graph on a server; None: an embedded graph in the lake."""
    provider: str | None
    """URL of a model's provider."""
    ahead: timedelta = timedelta(0)
    """How far the clock is ahead."""

    @property
    def archives(self) -> Path:
        return self.folder / "archives"

    @property
    def lake(self) -> Path:
        return self.folder / "lake"

    @property
    def url(self) -> str:
        return self.graph or f"ladybug://{self.lake / 'graph.lbug'}"

    def clock(self) -> datetime:
        return now() + self.ahead

    def settings(self, *, model: bool = False) -> Settings:
        llm = ModelSettings()
        if model and self.provider is not None:
            llm = ModelSettings(
                provider="openai-compatible", base_url=f"{self.provider}/v1", model="canned"
            )
        return Settings(
            lake=self.lake, graph=self.url, llm=llm, jobs=1, graph_timeout_seconds=5, prefetch=2
        )


Work = Callable[[TrialContext], Awaitable[None]]


async def write_archives(place: TrialContext) -> None:
    """Write two sessions of one project: four turns, one of which cannot be extracted."""
    await _write(place, "one", "Look again: `cart.py` uses `sqlite`.", f"Do {REFUSED}, please.")
    later = "Changed: `cart.py` no longer uses `sqlite`. And `orders.py` uses `cart.py`."
    await _write(place, "two", later, hours=1)


async def _write(place: TrialContext, session: str, *prompts: str, hours: int = 0) -> None:
    at = START + timedelta(hours=hours)
    write_archive(
        place.archives / f"{session}.jsonl", conversation(*prompts, session=session, at=at)
    )


async def parse(place: TrialContext) -> None:
    report = pipeline.parse_archives([str(place.archives)], place.settings())
    if report.problems:
        raise TurnetlError(str(report.problems))


async def change_archives(place: TrialContext) -> None:
    """Let an archive grow and another one appear, after both kinds of table were written."""
    await write_archives(place)
    await parse(place)
    await filter_turns(place)
    await _write(place, "two", "Which tests of the cart fail?", "Correct them, please.", hours=1)
    await _write(place, "three", "Describe the orders in the README.", hours=2)


async def filter_turns(place: TrialContext) -> None:
    pipeline.filter_turns(place.settings())


async def parse_changes(place: TrialContext) -> None:
    await change_archives(place)
    await parse(place)


async def pending_turns(place: TrialContext) -> None:
    """Ingest a session, and leave two more: three turns, one of which cannot be extracted."""
    await _write(place, "zero", "Look again: `shop.py` uses `cart.py`.", hours=-1)
    await parse(place)
    await filter_turns(place)
    await ingest(place)
    await write_archives(place)
    await parse(place)
    await filter_turns(place)


async def one_turn(place: TrialContext) -> None:
    """Leave a turn for a graph that does not exist."""
    await _write(place, "one", "Look again: `cart.py` uses `sqlite`.")
    await parse(place)
    await filter_turns(place)


async def ingest_first(place: TrialContext) -> None:
    await ingest(place, model=False)


async def ingest(place: TrialContext, *, model: bool = True) -> None:
    settings = place.settings(model=model)
    report = await pipeline.ingest(settings, pipeline.RunOptions(), place.clock)
    codes = {report.exit_code, *(group.exit_code for group in report.groups)}
    if codes - {ExitCode.DONE, ExitCode.FOUND}:
        raise TurnetlError(str(report.error or [group.error for group in report.groups]))


async def two_runs(place: TrialContext) -> None:
    """Ingest a session, then another one in a run of its own, without a model."""
    await write_archives(place)
    await backfill(place)
    shutil.rmtree(place.folder / "index before", ignore_errors=True)
    shutil.copytree(place.lake / "index", place.folder / "index before")
    await _write(place, "three", "Run the tests of the cart.", "Describe `cart.py`.", hours=2)
    await backfill(place)


async def backfill(place: TrialContext) -> None:
    await parse(place)
    await filter_turns(place)
    await ingest(place, model=False)


async def graph_ahead_of_index(place: TrialContext) -> None:
    await two_runs(place)
    shutil.rmtree(place.lake / "index")
    shutil.copytree(place.folder / "index before", place.lake / "index")


async def index(place: TrialContext) -> None:
    await pipeline.update_index(place.settings(), place.clock)


async def undo(place: TrialContext) -> None:
    settings, selection = place.settings(), UndoSelection(session="three")
    try:
        preview = await pipeline.preview_undo(settings, selection, cascade=True)
    except BadUsage:
        return  # Nothing of the session is left.
    report = await pipeline.undo(settings, preview, place.clock)
    if errors := [group.error for group in report.groups if group.error]:
        raise TurnetlError(str(errors))


async def redo(place: TrialContext) -> None:
    """Redo a session; turns that a killed redo left undone are ingested again."""
    settings, options = place.settings(), pipeline.RunOptions()
    selection = RedoSelection(session="three")
    with suppress(BadUsage):  # Nothing of the session is left.
        preview = await pipeline.preview_redo(settings, selection, options, place.clock)
        report = await pipeline.redo(settings, preview, options, place.clock)
        if errors := [group.error for group in report.groups if group.error]:
            raise TurnetlError(str(errors))
    await ingest(place, model=False)


@dataclass(frozen=True)
class Command:
    """A command, the state before it, and what it changes."""

    start: Work
    run: Work
    graph: bool = True
    """Whether it uses a graph, so that it is tried with each kind."""
    excluded: str = ""
    """Files that do not count: another command has the same points."""
    is_renumbering: bool = False
    """Whether its repetition commits turns again: their numbers grow, their order is the same."""


COMMANDS: Mapping[str, Command] = {
    "parse": Command(change_archives, parse, graph=False),
    "filter": Command(parse_changes, filter_turns, graph=False),
    "first ingest": Command(one_turn, ingest_first, excluded="/index"),
    "ingest": Command(pending_turns, ingest, excluded="/index"),
    "index": Command(graph_ahead_of_index, index),
    "undo": Command(two_runs, undo),
    "redo": Command(two_runs, redo, excluded="/index", is_renumbering=True),
}


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
        "responses": _responses(place.lake / "journal.sqlite"),
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


def _has_graph(place: TrialContext) -> bool:
    return place.graph is not None or (place.lake / "graph.lbug").exists()


async def _repair(place: TrialContext) -> None:
    """Open the graph for writing: a torn log, which readers ignore, is repaired by a writer."""
    if place.graph is None:
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


def _responses(journal: Path) -> list[str]:
    if not journal.exists():
        return []
    with closing(sqlite3.connect(journal)) as connection:
        rows = connection.execute("SELECT key, prompt_name FROM responses ORDER BY key")
        return [" ".join(row) for row in rows]


async def _hits(place: TrialContext) -> list[str]:
    found = await pipeline.search_turns(QUERY, place.settings(), place.clock)
    return [str(hit) for hit in found.hits]
