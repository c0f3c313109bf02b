"""CPU time of the checksum of a table, per MB that is written and that is read.

    python -m benchmarks.tables [--megabytes 64]

The file is a Parquet file of random bytes, so that its size is the one asked for. Written is the
checksum alone, of a small table in memory and of a large one that is read back; read is the
verification of a file that the system has cached. Each is the median of the runs.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from secrets import token_bytes

import pyarrow as pa
import pyarrow.parquet as pq

from turnetl.lake import checksum

RUNS = 7


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=64)
    megabytes = parser.parse_args().megabytes
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.parquet")
        write_random(path, megabytes)
        data = memoryview(path.read_bytes())
        print_cost("written, in memory", len(data), lambda: checksum.sealed(data))
        print_cost("written, a large file", len(data), lambda: seal_copy(path, data))
        print_cost("  of that, the file without it", len(data), lambda: copy(path, data))
        copy(path, data)
        with path.open("rb+") as file:
            checksum.seal_file(file)
        print_cost("read", len(data), lambda: verify(path))


def write_random(path: Path, megabytes: int) -> None:
    """Write a table of a row of random bytes per MB."""
    rows = pa.table({"content": [token_bytes(1_000_000) for _ in range(megabytes)]})
    pq.write_table(rows, path, compression="none", use_dictionary=False, write_statistics=False)


def copy(path: Path, data: memoryview) -> None:
    path.write_bytes(data)


def seal_copy(path: Path, data: memoryview) -> None:
    copy(path, data)
    with path.open("rb+") as file:
        checksum.seal_file(file)


def verify(path: Path) -> None:
    with path.open("rb") as file:
        checksum.verify(file)


def print_cost(name: str, size: int, run: Callable[[], object]) -> None:
    """Print the CPU time of a call per MB of its bytes."""
    seconds = statistics.median(cpu_seconds(run) for _ in range(RUNS))
    print(f"{name:32} {seconds * 1e3 / (size / 1e6):.2f} ms of CPU per MB", flush=True)


def cpu_seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


if __name__ == "__main__":
    main()
