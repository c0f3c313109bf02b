"""How fast archives become turn tables, side by side with a plain loop that makes the same table.

The archives of tests/real.py, copied until there are enough megabytes of them, end to end into
Parquet: megabytes per CPU-second, user and system, of all threads and processes. Every way runs in
a process of its own that reads what was just written; the better of two rounds counts, in turns.

    python -m benchmarks.parse [--megabytes N] [--archives N]

Exits with 1 beyond a promise.
"""

import argparse
import json
import math
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl

from benchmarks import plain
from benchmarks.cost import Cost, apart, at_least, at_most
from tests import real
from turnetl import formats, parse, schema
from turnetl.lake import Lake, arrow_schema
from turnetl.redact import SecretRedactor

SPEED, REDACTED, RATIO, TWO_JOBS, MEMORY, AGAIN = 150.0, 100.0, 2.0, 1.8, 300.0, 2.0
"""Promises: MB per CPU-second, the same with secrets cut out, times a plain loop, times one job, MB
besides three times the largest archive, seconds for many unchanged archives."""
FLAT = 100.0
"""MB that many archives may take more than one: their reports are kept until the end."""
SMALL = 20_000
"""Bytes of an archive of which there may be ten thousand without gigabytes."""
ROUNDS = 2


class Nothing:
    """Cuts nothing."""

    version = "1"

    def redact(self, texts: list[str]) -> tuple[list[str], list[int]]:
        return texts, [0] * len(texts)


def main(megabytes: int, archives: int) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        work = Work(Path(folder))
        return all([*speed(work, megabytes), *many(work, archives)])


class Work:
    """A folder to work in. Nothing in it is removed before the end: a file system is slow to give a
    place again that it just took back."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made = 0

    def new(self) -> Path:
        self.made += 1
        return self.folder / str(self.made)

    def copies(self, of: Sequence[Path], times: int) -> list[Path]:
        """Return copies in folders that read in the order of `of`, again and again."""
        to = self.new()
        for at in range(times):
            (to / f"{at:05}").mkdir(parents=True)
            for number, path in enumerate(of):
                shutil.copyfile(path, to / f"{at:05}" / f"{number:05}{path.suffix}")
        return list(parse.expand([to]).archives)

    def cost(self, way: Callable[[Sequence[Path], Path], str], paths: Sequence[Path]) -> Cost:
        return self.cost_at(way, paths, self.new())

    def cost_at(
        self, way: Callable[[Sequence[Path], Path], str], paths: Sequence[Path], to: Path
    ) -> Cost:
        return apart(way, paths, to)


def turnetl(paths: Sequence[Path], to: Path) -> str:
    report = parse.parse_archives(paths, Lake(to), redactor=Nothing())
    return f"{report.read.turns} turns, {report.read.tool_calls} tool calls"


def redacted(paths: Sequence[Path], to: Path) -> str:
    report = parse.parse_archives(paths, Lake(to), redactor=SecretRedactor())
    return f"{report.read.turns} turns, {report.read.tool_calls} tool calls"


def two_jobs(paths: Sequence[Path], to: Path) -> str:
    report = parse.parse_archives(paths, Lake(to), redactor=Nothing(), jobs=2)
    return f"{report.read.turns} turns, {report.read.tool_calls} tool calls"


def again(paths: Sequence[Path], to: Path) -> str:
    folder = paths[0].parents[1]
    report = parse.parse_archives(parse.expand([folder]).archives, Lake(to), redactor=Nothing())
    return ", ".join(f"{count} {outcome}" for outcome, count in sorted(report.outcomes.items()))


def loop(paths: Sequence[Path], to: Path) -> str:
    to.mkdir()
    columns = arrow_schema(schema.TURNS)
    for number, path in enumerate(paths):
        plain.write(path, to / f"{number:06}.parquet", columns)
    return ""


def loads(paths: Sequence[Path], _: Path) -> str:
    """What the machine can do: decode every line and forget it."""
    for path in paths:
        for line in path.read_bytes().split(b"\n"):
            try:
                json.loads(line)
            except ValueError:
                continue
    return ""


def speed(work: Work, megabytes: int) -> list[bool]:
    once = known(parse.expand([real.ARCHIVES_OR_SAMPLES]).archives)
    times = math.ceil(megabytes * 1e6 / size(once))
    paths = work.copies(once, times)
    claude = [path for path, of in zip(paths, [*formats_of(once)] * times, strict=True) if of]
    print(f"{len(paths)} archives, {mb(paths):.0f} MB, mean {mb(paths) / len(paths) * 1e3:.0f} KB")
    print(f"of Claude Code {len(claude)}, {mb(claude):.0f} MB\n")
    ways = {
        "json.loads and nothing else": (loads, claude),
        "a plain loop, Claude Code": (loop, claude),
        "turnetl, Claude Code": (turnetl, claude),
        "turnetl": (turnetl, paths),
        "turnetl, redacted, Claude Code": (redacted, claude),
        "turnetl, redacted": (redacted, paths),
        "turnetl, two jobs": (two_jobs, paths),
    }
    rounds = [{name: work.cost(*way) for name, way in ways.items()} for _ in range(ROUNDS)]
    best = {name: min((of[name] for of in rounds), key=lambda cost: cost.cpu) for name in ways}
    quickest = {name: min(of[name].wall for of in rounds) for name in ways}
    for name, (_, of) in ways.items():
        cost, wall = best[name], quickest[name]
        print(f"  {name:<32}{mb(of) / cost.cpu:6.0f} MB per CPU-second", end="")
        print(f"{mb(of) / wall:7.0f} MB/s on the clock   {cost.said}")
    print()
    return [
        agree(work, claude[: len(claude) // times]),
        at_least("MB per CPU-second", mb(paths) / best["turnetl"].cpu, SPEED),
        at_least(
            "MB per CPU-second, redacted", mb(paths) / best["turnetl, redacted"].cpu, REDACTED
        ),
        at_least("times a plain loop", ratio(best, *list(ways)[1:3]), RATIO),
        at_least(
            "times one job with two", quickest["turnetl"] / quickest["turnetl, two jobs"], TWO_JOBS
        ),
    ]


def ratio(best: dict[str, Cost], slow: str, fast: str) -> float:
    return best[slow].cpu / best[fast].cpu


def agree(work: Work, paths: Sequence[Path]) -> bool:
    """Say whether the loop's table and ours hold the same turns."""
    ours, theirs = work.new(), work.new()
    turnetl(paths, ours)
    loop(paths, theirs)
    same = told(ours).equals(told(theirs))
    print(f"  the loop's turns are {'ours' if same else 'OTHERS THAN OURS'}")
    return same


def told(folder: Path) -> pl.DataFrame:
    """Return what a person would compare, in one order."""
    frames = [pl.read_parquet(path) for path in sorted(folder.rglob("*.parquet"))]
    calls = pl.col("tool_calls").list.eval(pl.element().struct.field("name"))
    return (
        pl.concat(frames)
        .sort("archive", "first_byte")
        .select("archive", "first_line", "user_text", "assistant_text", "steering", calls)
    )


def many(work: Work, archives: int) -> list[bool]:
    """Memory of one archive and of many, and what it costs to find that many did not change."""
    once = known(parse.expand([real.ARCHIVES_OR_SAMPLES]).archives)
    largest = max(once, key=lambda path: path.stat().st_size)
    small = [path for path in once if path.stat().st_size <= SMALL]
    paths = work.copies(small, math.ceil(archives / len(small)))[:archives]
    lake = work.new()
    one = work.cost(turnetl, work.copies([largest], 1))
    all_ = work.cost_at(turnetl, [*work.copies([largest], 1), *paths], lake)
    unchanged = work.cost_at(again, paths, lake)
    print(f"\n  one archive of {mb([largest]):.1f} MB: {one.peak:.0f} MB of memory")
    print(f"  that and {len(paths)} others: {all_.peak:.0f} MB")
    print(f"  {len(paths)} again: {unchanged.said}, {unchanged.cpu:.2f} s of CPU\n")
    return [
        at_most("MB of memory", all_.peak, MEMORY + 3 * mb([largest])),
        at_most("MB more than for one", all_.peak - one.peak, FLAT),
        at_most("seconds for all of them again", unchanged.wall, AGAIN),
    ]


def known(paths: Sequence[Path]) -> list[Path]:
    return [path for path in paths if formats.sniff(path.read_bytes()) is not None]


def formats_of(paths: Sequence[Path]) -> list[bool]:
    """Say of each archive whether it is one of Claude Code's."""
    found = [formats.sniff(path.read_bytes()) for path in paths]
    return [of is not None and of.name == "claude_code" for of in found]


def size(paths: Sequence[Path]) -> int:
    return sum(path.stat().st_size for path in paths)


def mb(paths: Sequence[Path]) -> float:
    return size(paths) / 1e6


if __name__ == "__main__":
    told_ = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    told_.add_argument("--megabytes", type=int, default=1000)
    told_.add_argument("--archives", type=int, default=10_000)
    given = told_.parse_args()
    sys.exit(not main(given.megabytes, given.archives))
