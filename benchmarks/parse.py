"""Speed of parsing archives into turns tables, compared with a simple parser of the same table.

Copies of the archives of tests/real_archives.py are parsed end to end into Parquet. The unit is
megabytes per CPU-second, user and system, of all threads and processes. Each variant runs in a
process of its own on files that were just written. Two rounds alternate over the variants; the
faster one counts. Wall times mean something only on a machine that does nothing else, and a speed
of two processes only on a disk in memory: `--folder /dev/shm`.

    python -m benchmarks.parse [--megabytes N] [--archives N] [--folder FOLDER] [--formats]

Exits with 1 if a limit is exceeded. With --formats, it prints the speed of each format alone.
"""

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from benchmarks import baseline_parser
from benchmarks.archive_copies import WorkFolder, format_names, mb, recognised, size
from benchmarks.cost import Cost, at_least, at_most
from tests import real_archives
from tests.fakes.redactors import NoRedactor
from turnetl import parsing
from turnetl.base import schema
from turnetl.lake import Lake, arrow_schema
from turnetl.redact import SecretRedactor

MIN_MB_PER_CPU_SECOND, MIN_REDACTED_MB_PER_CPU_SECOND = 150.0, 100.0
MIN_CLAUDE_MB_PER_CPU_SECOND = 200.0
"""For the sessions of Claude Code, without redaction."""
MIN_SPEEDUP = 2.0
"""Multiple of the speed of the baseline."""
MIN_TWO_JOBS_SPEEDUP = 1.8
"""Multiple of the speed of one job."""
MAX_TWO_JOBS_CPU = 1.1
"""Multiple of the CPU time of one job for a few MB in many archives, where the start of a process
takes longer than all the work."""
SMALL_ARCHIVES = 700
MAX_MEMORY_MB = 300.0
"""In addition to three times the size of the largest archive."""
MAX_RERUN_SECONDS = 2.0
"""For many unchanged archives."""
MAX_EXTRA_MB = 100.0
"""MB that many archives may take in addition to one: their reports are kept until the end."""
MAX_SMALL_BYTES = 20_000
"""Maximum bytes of an archive that is copied ten thousand times."""
MAX_COPIES = 2_000
"""Archives of one format that are measured alone."""
CHATS = ("openai_conv", "sharegpt")
ROUNDS = 2


def main(megabytes: int, archives: int, parent: Path | None) -> bool:
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        work = WorkFolder(Path(folder))
        return all(
            [
                *check_speed(work, megabytes),
                check_small_archives(work),
                *check_many_archives(work, archives),
            ]
        )


def parse(paths: Sequence[Path], to: Path) -> str:
    report = parsing.parse_archives(paths, Lake(to), redactor=NoRedactor())
    return f"{report.read.turns} turns, {report.read.tool_calls} tool calls"


def parse_redacted(paths: Sequence[Path], to: Path) -> str:
    report = parsing.parse_archives(paths, Lake(to), redactor=SecretRedactor())
    return f"{report.read.turns} turns, {report.read.tool_calls} tool calls"


def parse_with_two_jobs(paths: Sequence[Path], to: Path) -> str:
    report = parsing.parse_archives(paths, Lake(to), redactor=NoRedactor(), jobs=2)
    return f"{report.read.turns} turns, {report.read.tool_calls} tool calls"


def parse_redacted_with_two_jobs(paths: Sequence[Path], to: Path) -> str:
    report = parsing.parse_archives(paths, Lake(to), redactor=SecretRedactor(), jobs=2)
    return f"{report.read.turns} turns, {report.read.tool_calls} tool calls"


def rerun(paths: Sequence[Path], to: Path) -> str:
    folder = paths[0].parents[1]
    report = parsing.parse_archives(
        parsing.expand([folder]).archives, Lake(to), redactor=NoRedactor()
    )
    return ", ".join(f"{count} {outcome}" for outcome, count in sorted((+report.outcomes).items()))


def baseline(paths: Sequence[Path], to: Path) -> str:
    to.mkdir()
    columns = arrow_schema(schema.TURNS)
    for number, path in enumerate(paths):
        baseline_parser.write(path, to / f"{number:06}.parquet", columns)
    return ""


def json_only(paths: Sequence[Path], _: Path) -> str:
    """Decode every line and discard it: the upper limit of the machine."""
    for path in paths:
        for line in path.read_bytes().split(b"\n"):
            try:
                json.loads(line)
            except ValueError:
                continue
    return ""


Variants = Mapping[str, tuple[Callable[[Sequence[Path], Path], str], Sequence[Path]]]
"""By name: a function, and the archives that it parses into a folder."""


@dataclass(frozen=True)
class Speeds:
    """What each variant took, by its name: the faster one of the rounds."""

    best: Mapping[str, Cost]
    """By CPU time."""
    fastest: Mapping[str, float]
    """Seconds of wall time."""


def check_speed(work: WorkFolder, megabytes: int) -> list[bool]:
    once = recognised(parsing.expand([real_archives.ARCHIVES_OR_SAMPLES]).archives)
    times = math.ceil(megabytes * 1e6 / size(once))
    paths = work.copies(once, times)
    names = format_names(once) * times
    claude = [path for path, name in zip(paths, names, strict=True) if name == "claude_code"]
    chats = [path for path, name in zip(paths, names, strict=True) if name in CHATS]
    print(f"{len(paths)} archives, {mb(paths):.0f} MB, mean {mb(paths) / len(paths) * 1e3:.0f} KB")
    print(f"{len(claude)} of Claude Code, {mb(claude):.0f} MB")
    print(f"{len(chats)} of chats, most of them with many short ones, {mb(chats):.0f} MB\n")
    variants = speed_variants(paths, claude, chats)
    speeds = measured_speeds(work, variants)
    print_speeds(variants, speeds)
    return [
        tables_agree(work, claude[: len(claude) // times]),
        *speed_checks(speeds, mb(paths), mb(claude)),
    ]


def speed_variants(
    paths: Sequence[Path], claude: Sequence[Path], chats: Sequence[Path]
) -> Variants:
    return {
        "json.loads only": (json_only, claude),
        "baseline, Claude Code": (baseline, claude),
        "turnetl, Claude Code": (parse, claude),
        "turnetl": (parse, paths),
        "turnetl, chats": (parse, chats),
        "turnetl, redacted, Claude Code": (parse_redacted, claude),
        "turnetl, redacted": (parse_redacted, paths),
        "turnetl, two jobs": (parse_with_two_jobs, paths),
        "turnetl, redacted, two jobs": (parse_redacted_with_two_jobs, paths),
    }


def measured_speeds(work: WorkFolder, variants: Variants) -> Speeds:
    rounds = [
        {name: work.cost(*variant) for name, variant in variants.items()} for _ in range(ROUNDS)
    ]
    return Speeds(
        best={
            name: min((costs[name] for costs in rounds), key=lambda cost: cost.cpu)
            for name in variants
        },
        fastest={name: min(costs[name].wall for costs in rounds) for name in variants},
    )


def print_speeds(variants: Variants, speeds: Speeds) -> None:
    for name, (_, archives) in variants.items():
        cost, wall = speeds.best[name], speeds.fastest[name]
        print(f"  {name:<32}{mb(archives) / cost.cpu:6.0f} MB per CPU-second", end="")
        print(f"{mb(archives) / wall:7.0f} MB/s wall time   {cost.result}")
    print()


def speed_checks(speeds: Speeds, megabytes: float, claude: float) -> Iterator[bool]:
    """Yield whether each limit is kept.

    Args:
        speeds: of the variants.
        megabytes: of all archives.
        claude: megabytes of the archives of Claude Code.
    """
    limits = {
        "turnetl": (megabytes, MIN_MB_PER_CPU_SECOND),
        "turnetl, redacted": (megabytes, MIN_REDACTED_MB_PER_CPU_SECOND),
        "turnetl, Claude Code": (claude, MIN_CLAUDE_MB_PER_CPU_SECOND),
    }
    for name, (parsed, limit) in limits.items():
        yield at_least(f"MB per CPU-second: {name}", parsed / speeds.best[name].cpu, limit)
    slow, fast = (speeds.best[f"{name}, Claude Code"].cpu for name in ("baseline", "turnetl"))
    yield at_least("times the baseline", slow / fast, MIN_SPEEDUP)
    for name in ("turnetl", "turnetl, redacted"):
        speedup = speeds.fastest[name] / speeds.fastest[f"{name}, two jobs"]
        yield at_least(f"times one job: {name}", speedup, MIN_TWO_JOBS_SPEEDUP)


def print_formats(work: WorkFolder, megabytes: int) -> None:
    """Print the speed of each format alone. Most formats have small archives only."""
    once = recognised(parsing.expand([real_archives.ARCHIVES_OR_SAMPLES]).archives)
    names = format_names(once)
    for name in sorted(set(names)):
        archives = [path for path, other in zip(once, names, strict=True) if other == name]
        times = min(math.ceil(megabytes * 1e6 / size(archives)), MAX_COPIES // len(archives))
        paths = work.copies(archives, times)
        plain, redacted = (
            min(work.cost(variant, paths).cpu for _ in range(ROUNDS))
            for variant in (parse, parse_redacted)
        )
        print(
            f"  {name:<16}{len(paths):5} archives, mean {mb(paths) / len(paths) * 1e3:6.1f} KB",
            end="",
        )
        print(f"{mb(paths) / plain:8.1f} MB per CPU-second, redacted {mb(paths) / redacted:.1f}")


def check_small_archives(work: WorkFolder) -> bool:
    """Measure whether processes are started for a few MB in many archives."""
    once = recognised(parsing.expand([real_archives.ARCHIVES_OR_SAMPLES]).archives)
    small = [path for path in once if path.stat().st_size <= MAX_SMALL_BYTES]
    paths = work.copies(small, math.ceil(SMALL_ARCHIVES / len(small)))[:SMALL_ARCHIVES]
    one, two = (
        min(work.cost(variant, paths).cpu for _ in range(ROUNDS))
        for variant in (parse_redacted, parse_redacted_with_two_jobs)
    )
    print(
        f"\n  {len(paths)} archives of {mb(paths):.1f} MB: {one:.1f} s of CPU, two jobs {two:.1f}"
    )
    return at_most("times the CPU time of one job, two jobs", two / one, MAX_TWO_JOBS_CPU)


def tables_agree(work: WorkFolder, paths: Sequence[Path]) -> bool:
    """Return whether the table of the baseline contains the same turns."""
    parsed, from_baseline = work.new(), work.new()
    parse(paths, parsed)
    baseline(paths, from_baseline)
    same = compared_columns(parsed).equals(compared_columns(from_baseline))
    print(f"  the turns of the baseline are {'the same' if same else 'DIFFERENT'}")
    return same


def compared_columns(folder: Path) -> pl.DataFrame:
    """Return the main columns in a fixed order."""
    frames = [pl.read_parquet(path) for path in sorted(folder.rglob("*.parquet"))]
    calls = pl.col("tool_calls").list.eval(pl.element().struct.field("name"))
    return (
        pl.concat(frames)
        .sort("archive", "first_byte")
        .select("archive", "first_line", "user_text", "assistant_text", "steering", calls)
    )


def check_many_archives(work: WorkFolder, archives: int) -> list[bool]:
    """Measure memory for one archive and for many, and the time for many unchanged archives."""
    once = recognised(parsing.expand([real_archives.ARCHIVES_OR_SAMPLES]).archives)
    largest = max(once, key=lambda path: path.stat().st_size)
    small = [path for path in once if path.stat().st_size <= MAX_SMALL_BYTES]
    paths = work.copies(small, math.ceil(archives / len(small)))[:archives]
    lake = work.new()
    single = work.cost(parse, work.copies([largest], 1))
    many = work.cost_at(parse, [*work.copies([largest], 1), *paths], lake)
    unchanged = work.cost_at(rerun, paths, lake)
    print(f"\n  one archive of {mb([largest]):.1f} MB: {single.peak:.0f} MB of memory")
    print(f"  that and {len(paths)} small ones: {many.peak:.0f} MB")
    print(f"  {len(paths)} again: {unchanged.result}, {unchanged.cpu:.2f} s of CPU\n")
    return [
        at_most("MB of memory", many.peak, MAX_MEMORY_MB + 3 * mb([largest])),
        at_most("MB in addition to one archive", many.peak - single.peak, MAX_EXTRA_MB),
        at_most("seconds for all of them unchanged", unchanged.wall, MAX_RERUN_SECONDS),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--archives", type=int, default=10_000)
    parser.add_argument("--folder", type=Path, help="where the copies are made")
    parser.add_argument("--formats", action="store_true", help="only the speed of each format")
    arguments = parser.parse_args()
    if arguments.formats:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as temporary:
            print_formats(WorkFolder(Path(temporary)), arguments.megabytes)
        sys.exit()
    sys.exit(not main(arguments.megabytes, arguments.archives, arguments.folder))
