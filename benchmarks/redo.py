"""CPU time of redoing turns, relative to that of ingesting them: at most twice as much.

    python -m benchmarks.redo [ladybug] [neo4j] [--turns 1000] [--extractor structural] [--exact]
        [--archives FOLDER]

The turns of the archives that tests/real_archives.py names, repeated with other names as often as
necessary, in a lake. They are ingested, then all of them are redone. Both include planning,
extraction, resolution, embedding and commits. `--extractor llm` asks `benchmarks.provider` through
the complete model stack; its journal answers the requests of the redo. CPU time is that of this
process and of a Neo4j that the benchmark started, without that of the provider.
"""

import argparse
import asyncio
import logging
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import provider
from benchmarks.commit import server_cpu
from benchmarks.cost import at_most
from tests import real_archives
from tests.builders import GROUP
from tests.extraction import long_sample_turns
from tests.ingestion.redo_runs import ingest, opened, redo, write_lake
from tests.servers import neo4j_server
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.extraction.config import ExtractionConfig, PromptConfigs
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.ontology import CODING
from turnetl.extraction.port import Extractor
from turnetl.extraction.structural import StructuralExtractor
from turnetl.extraction.templates import TemplateResolver, built_in_folder
from turnetl.ingestion.redo_report import RedoSelection
from turnetl.lake import Lake
from turnetl.llm.journal import Journal
from turnetl.llm.limiter import Limiter, Slots
from turnetl.llm.meter import Meter
from turnetl.llm.prices import Prices
from turnetl.llm.providers.registry import open_model
from turnetl.llm.retry import RetryPolicy
from turnetl.llm.stack import ModelStack, wrap

LIMIT = 2.0
"""CPU of a redo, relative to that of the ingest."""
CONCURRENCY = 8
"""Requests."""


async def measure(name: str, folder: Path, lake: Lake, extractor: str, *, exact: bool) -> bool:
    """Print the CPU of both; return whether the limit is met."""
    with ExitStack() as stack:
        server = stack.enter_context(neo4j_server.running(folder)) if name == "neo4j" else None
        url = server.url if server else f"ladybug://{folder / 'graph.lbug'}"
        makes = stack.enter_context(extractors(extractor, folder))

        def cpu() -> float:
            return time.process_time() + server_cpu(server.pid if server else None)

        start = cpu()
        async with opened(url, lake, makes()) as resources:
            report = await ingest(resources)
            await resources.extractor.close()
        ingested = cpu()
        async with opened(url, lake, makes()) as resources:
            done = await redo(resources, RedoSelection(groups=(GROUP,)), exact=exact)
            await resources.extractor.close()
        ended = cpu()
        if server:
            server.clear()
    committed = done.ingested.committed if done.ingested else 0
    if not report.committed == done.undone == committed or done.error is not None:
        raise AssertionError(f"{committed} of {report.committed} turns were redone: {done.error}")
    once, again = ingested - start, ended - ingested
    how = f"{name}, {extractor}{', exact' if exact else ''}"
    print(f"{how}: {committed:,} turns: ingest {once:.1f} s CPU, redo {again:.1f} s CPU")
    return at_most(f"CPU of a redo / CPU of the ingest, {how}", again / once, LIMIT)


@contextmanager
def extractors(kind: str, folder: Path) -> Iterator[Any]:
    """Yield a function that opens an extractor; all of them have the same journal."""
    if kind == "structural":
        yield StructuralExtractor
        return
    with (
        provider.running(responders="benchmarks.responders") as running,
        closing(Journal(folder / "journal.sqlite", clock=lambda: datetime.now(UTC))) as journal,  # noqa: TID251 - the run's clock
    ):

        def open_extractor() -> Extractor[Any]:
            bare = open_model("openai-compatible", model="canned", base_url=running.base_url())
            shared = ModelStack(
                journal,
                None,
                RetryPolicy(),
                Limiter(Slots(CONCURRENCY)),
                Meter(Prices()),
            )
            prompts = PromptConfigs(ExtractionConfig(), TemplateResolver([built_in_folder()]))
            return LlmExtractor(wrap(bare, shared), ToyEmbedder(), prompts=prompts, ontology=CODING)

        yield open_extractor


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("graphs", nargs="*", default=["ladybug", "neo4j"])
    parser.add_argument("--turns", type=int, default=1_000)
    parser.add_argument("--extractor", choices=["structural", "llm"], default="structural")
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--archives", type=Path, default=real_archives.ARCHIVES_OR_SAMPLES)
    given = parser.parse_args()
    logging.disable(logging.ERROR)
    passed = []
    for name in given.graphs:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            # Twice as many: some are open at the end of their session.
            episodes = long_sample_turns.turns(given.archives, folder / "archives", 2 * given.turns)
            closed = (one.turn for one in episodes if one.turn.closed)
            ordered = sorted(closed, key=lambda turn: str(turn.started_at))
            lake = write_lake(folder / "lake", ordered[: given.turns])
            measured = measure(name, folder, lake, given.extractor, exact=given.exact)
            passed.append(asyncio.run(measured))
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
