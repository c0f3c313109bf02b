"""Seconds of `status` and of a backfill that changes nothing, with 10,000 turns in the graph.

    python -m benchmarks.large_lake [--turns 10000] [--folder FOLDER]

The sample archives are copied with other ids and years, and with other names of their projects,
which are the groups, until there are enough turns. They are ingested into an embedded graph; this
takes minutes, and a folder that is named keeps them for the next call. Then each command is run as
a process. Exits with 1 if `status` takes more than 2 s, or the unchanged backfill more than 5 s.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from uuid import NAMESPACE_OID, uuid5

from benchmarks.cost import at_most
from tests import real_archives

RUNS = 3
LIMITS = {"status": 2.0, "backfill": 5.0}
"""Seconds."""
COPIES_IN_GROUP = 20
"""Copies of the samples whose projects have the same name."""

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PROJECT = re.compile(r"bookshop|shoebox")
_YEAR = re.compile(r'"2026-(?=\d\d-\d\dT)')


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        commands = fill(folder, arguments.turns)
        passed = [
            at_most(
                f"s, turnetl {name}",
                statistics.median(run(command, folder)[0] for _ in range(RUNS)),
                LIMITS[name],
            )
            for name, command in commands.items()
        ]
    return 0 if all(passed) else 1


def fill(folder: Path, turns: int) -> dict[str, Sequence[str]]:
    """Ingest turns until the graph has this number; return the commands to measure."""
    archives, lake = folder / "archives", ("--lake", str(folder / "lake"), "--json")
    backfill, status = ("backfill", str(archives), *lake), ("status", *lake)
    copies = 0
    committed = 0
    while committed < turns:
        # The first copy says how many turns one has.
        copies = -(-turns * copies // committed) if committed else copies + 1
        for copy in range(copies):
            if not (archives / str(copy)).exists():
                write_copy(archives / str(copy), copy)
        seconds, output = run(backfill, folder)
        committed = output["committed"] + output["already_committed"]
        print(f"{committed:,} turns of {copies:,} copies: backfill {seconds:.1f} s", flush=True)
    return {"status": status, "backfill": backfill}


def write_copy(folder: Path, copy: int) -> None:
    """Write the sample archives with ids, years and projects of their own."""
    samples = real_archives.SAMPLES
    for archive in sorted(samples.rglob("*.jsonl")):
        text = archive.read_text("utf-8")
        text = _ID.sub(lambda found: str(uuid5(NAMESPACE_OID, f"{found[0]} {copy}")), text)
        # Turns with the same text and time would be duplicates.
        text = _YEAR.sub(f'"{2001 + copy % COPIES_IN_GROUP}-', text)
        text = _PROJECT.sub(lambda found: f"{found[0]}{copy // COPIES_IN_GROUP}", text)
        written = folder / archive.relative_to(samples)
        written.parent.mkdir(parents=True, exist_ok=True)
        written.write_text(text, "utf-8")


def run(arguments: Sequence[str], folder: Path) -> tuple[float, dict[str, int]]:
    """Run a command; return its seconds and its output."""
    turnetl = str(Path(sys.executable).with_name("turnetl"))
    started = time.perf_counter()
    result = subprocess.run(
        [turnetl, *arguments], cwd=folder, capture_output=True, check=False, text=True
    )
    seconds = time.perf_counter() - started
    if not result.stdout:
        sys.exit(result.stderr)
    return seconds, json.loads(result.stdout)


if __name__ == "__main__":
    sys.exit(main())
