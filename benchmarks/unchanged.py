"""Size of the search index beside the lake, and the time of a backfill that changes nothing.

    python -m benchmarks.unchanged [ARCHIVES]

The benchmark fills an empty lake and its index from the archives, prints their sizes, and repeats
the command as a process. Exits with 1 if the index is larger than the lake with its embedded graph,
or if the unchanged backfill takes longer than 1.5 s.

Default archives: those of tests/real_archives.py, else the samples.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests import real_archives

SECONDS = 1.5
RUNS = 3
PARTS = (("tables", ("turns", "episodes")), ("graph", ("graph.lbug",)), ("index", ("index",)))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("archives", nargs="?", default=real_archives.ARCHIVES, type=Path)
    given = arguments.parse_args().archives
    archives = (given if given.is_dir() else real_archives.SAMPLES).resolve()
    with tempfile.TemporaryDirectory() as folder:
        lake = Path(folder, "lake")
        first = backfill_seconds(archives, lake)
        unchanged = statistics.median(backfill_seconds(archives, lake) for _ in range(RUNS))
        sizes = {name: sum(megabytes(lake / part) for part in of) for name, of in PARTS}
    print(f"first backfill {first:.1f} s, unchanged {unchanged:.2f} s (limit {SECONDS} s)")
    print(", ".join(f"{name} {size:.1f} MB" for name, size in sizes.items()))
    sys.exit(unchanged > SECONDS or sizes["index"] > sizes["tables"] + sizes["graph"])


def backfill_seconds(archives: Path, lake: Path) -> float:
    """Return the seconds of `turnetl backfill` as a process."""
    turnetl = str(Path(sys.executable).with_name("turnetl"))
    command = [
        turnetl,
        "backfill",
        str(archives),
        "--lake",
        str(lake),
        "--assume-time",
        "2024-01-01",
    ]
    started = time.perf_counter()
    result = subprocess.run(command, cwd=lake.parent, capture_output=True, check=False, text=True)
    if not lake.exists():
        sys.exit(result.stderr)
    return time.perf_counter() - started


def megabytes(path: Path) -> float:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files) / 1e6


if __name__ == "__main__":
    main()
