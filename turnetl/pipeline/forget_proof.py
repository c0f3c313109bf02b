"""Search lake, journal, index and graph for what was forgotten."""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from turnetl import wiring
from turnetl.base.errors import Fatal
from turnetl.graph.open import embedded_file
from turnetl.ingestion.forget_report import ForgetReport
from turnetl.ingestion.forget_text import holds, spellings
from turnetl.lake.byte_search import FoundText, files_under, search_files
from turnetl.settings import Settings


async def prove(settings: Settings, report: ForgetReport) -> ForgetReport:
    """Return the report with the places that still hold the text, or a sample of a turn.

    Journal and index are in the lake's folder. Of a lake in an object store all objects are read;
    of a graph on a server only the stored values are searched.

    Raises:
        Fatal: a file cannot be read; the same command searches again.
        GraphBusy: the graph did not respond, or another process writes it.
    """
    texts = texts_to_find(report)
    lake = wiring.lake(settings)
    lake.files.fetch_all(lake.root)
    files = files_under([settings.lake, lake.root, *_graph_files(settings)])
    try:
        in_files = search_files(files, texts)
    except (OSError, sqlite3.Error) as error:
        raise Fatal(
            f"the files cannot be searched for what was removed: {error}; repeat the command"
        ) from error
    found = [*in_files, *await _search_graph(settings, texts)]
    parts = urlsplit(settings.graph_url)
    on_server = embedded_file(settings.graph_url) is None
    return replace(
        report,
        found=tuple(found),
        files_searched=len(files),
        is_proven=not found,
        graph_server=f"{parts.hostname}:{parts.port or ''}".rstrip(":") if on_server else None,
    )


def texts_to_find(report: ForgetReport) -> list[str]:
    """Return the text in its spellings, and the samples of the turns."""
    text = report.selection.text
    return [*(spellings(text) if text is not None else ()), *report.samples]


def _graph_files(settings: Settings) -> Sequence[Path]:
    """Return the files of an embedded graph, with logs and copies beside it."""
    path = embedded_file(settings.graph_url)
    if path is None or not path.parent.is_dir():
        return ()
    return [file for file in path.parent.iterdir() if file.name.startswith(path.name)]


async def _search_graph(settings: Settings, texts: Sequence[str]) -> list[FoundText]:
    """Search the values, also those that another program wrote."""
    if not texts or wiring.missing_graph(settings) is not None:
        return []
    found = []
    async with wiring.store(settings, write=False) as store:
        runs = await store.runs()
        if holds(runs, texts):
            found.append(FoundText("graph", "runs"))
        recipes = {recipe for run in runs for recipe in run.recipes}
        for group in await store.versions():
            contents = await store.load(group)
            recipes |= {receipt.recipe for receipt in contents.receipts}
            values = (
                contents,
                await store.load_subgraphs(group),
                await store.commit_records(group),
            )
            if any(holds(value, texts) for value in values):
                found.append(FoundText("graph", f"group {group}"))
        if holds(await store.recipes(recipes), texts):
            found.append(FoundText("graph", "recipes"))
    return found
