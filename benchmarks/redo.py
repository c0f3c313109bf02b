"""CPU time of redoing turns, relative to that of ingesting them: at most twice as much.

    python -m benchmarks.redo [--turns 1000] [--archives FOLDER]

The turns of the archives that tests/real_archives.py names, repeated with other names as often as
necessary, in a lake. They are ingested into an embedded graph with the structural extractor, then
all of them are redone. Both include planning, extraction, resolution, embedding and commits.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.cost import at_most
from tests import real_archives
from tests.builders import GROUP
from tests.extraction import long_sample_turns
from tests.ingestion.redo_runs import ingest, opened, redo, write_lake
from turnetl.extraction.structural import StructuralExtractor
from turnetl.ingestion.redo_plan import RedoSelection
from turnetl.lake import Lake

LIMIT = 2.0
"""CPU of a redo, relative to that of the ingest."""


async def measure(folder: Path, lake: Lake) -> bool:
    """Print the CPU of both; return whether the limit is met."""
    url = f"ladybug://{folder / 'graph.lbug'}"
    start = time.process_time()
    async with opened(url, lake, StructuralExtractor()) as resources:
        report = await ingest(resources)
    ingested = time.process_time()
    async with opened(url, lake, StructuralExtractor()) as resources:
        done = await redo(resources, RedoSelection(groups=(GROUP,)))
    ended = time.process_time()
    committed = done.ingested.committed if done.ingested else 0
    if not report.committed == done.undone == committed or done.error is not None:
        raise AssertionError(f"{committed} of {report.committed} turns were redone: {done.error}")
    once, again = ingested - start, ended - ingested
    print(f"{committed:,} turns: ingest {once:.1f} s CPU, redo {again:.1f} s CPU")
    return at_most("CPU of a redo / CPU of the ingest", again / once, LIMIT)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--turns", type=int, default=1_000)
    parser.add_argument("--archives", type=Path, default=real_archives.ARCHIVES_OR_SAMPLES)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # Twice as many: some are open at the end of their session.
        episodes = long_sample_turns.turns(
            arguments.archives, folder / "archives", 2 * arguments.turns
        )
        closed = (one.turn for one in episodes if one.turn.closed)
        ordered = sorted(closed, key=lambda turn: str(turn.started_at))
        lake = write_lake(folder / "lake", ordered[: arguments.turns])
        return 0 if asyncio.run(measure(folder, lake)) else 1


if __name__ == "__main__":
    sys.exit(main())
