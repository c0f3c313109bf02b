"""A database of OpenCode with 10,000 sessions: all are read, then none, then the changed one.

    python -m benchmarks.database_sessions [SESSIONS] [PARTS]

A part has 2 kB; an answer has PARTS of them.
"""

import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import perf_counter, process_time

from tests.agent_databases import opencode, write
from tests.fakes.redactors import NoRedactor
from turnetl import parsing
from turnetl.lake import Lake

_BYTES = 2000


def main() -> None:
    """Print the CPU and wall time of each run in seconds, with the archives by outcome."""
    given = [int(argument) for argument in sys.argv[1:3]]
    sessions, parts = [*given, *(10_000, 10)[len(given) :]]
    with tempfile.TemporaryDirectory() as folder:
        path = opencode(Path(folder, "opencode.db"), sessions, parts)
        text = json.dumps({"type": "text", "text": "x" * _BYTES})
        write(path, [("update part set data = ? where id like '%_1_%'", (text,))])
        print(f"{sessions:,} sessions, {path.stat().st_size / 1e6:,.0f} MB")
        _run("first run", path)
        _run("nothing changed", path)
        write(
            path, [("update part set time_updated = time_updated + 1 where id = 'prt_7_1_0'", ())]
        )
        _run("one session touched", path)
        answer = json.dumps({"type": "text", "text": "Another answer"})
        change = "update part set data = ?, time_updated = time_updated + 1 where id = 'prt_7_1_0'"
        write(path, [(change, (answer,))])
        _run("one session changed", path)


def _run(name: str, path: Path) -> None:
    start, cpu = perf_counter(), process_time()
    found = parsing.expand([path])
    lake = Lake(path.parent / "lake")
    report = parsing.parse_archives(found.archives, lake, redactor=NoRedactor())
    times = f"{process_time() - cpu:.2f} s of CPU, {perf_counter() - start:.2f} s"
    outcomes = dict(Counter(archive.outcome.value for archive in report.archives))
    print(f"{name}: {times}; {outcomes}")


if __name__ == "__main__":
    main()
