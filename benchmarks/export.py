"""Seconds and bytes of an export of 10,000 turns in each format, and of an import that is equal.

    python -m benchmarks.export [--turns 10000] [--ingest] [--folder FOLDER]

The sample archives are copied as in `benchmarks.large_lake` until there are enough turns, then
parsed and filtered; with `--ingest` also ingested into an embedded graph, which takes minutes and
gives the export entities and facts. Each command is run as a process.

The Parquet export is imported into a new lake. Then every row of both lakes is compared, in all
columns but the machine before the path in `archive`, and the same export and import are run again.
The rows of JSONL are compared with the episodes tables. Exits with 1 if anything differs.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from benchmarks import large_lake
from turnetl.lake import Lake
from turnetl.transfer.content import ExportedTurn
from turnetl.transfer.file_formats import JSONL_MARK, turn_row
from turnetl.transfer.transfer_report import ExportFormat

MACHINE = "laptop"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--ingest", action="store_true")
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        turns = fill(folder, arguments.turns, ingest=arguments.ingest)
        print(f"{turns:,} rows in turns files", flush=True)
        for name in ExportFormat:
            exported(folder, name)
        exported(folder, ExportFormat.PARQUET, again=True)
        checks = {
            "rows of the lake and of the imported one are equal": imported(folder),
            "rows of JSONL and of the episodes tables are equal": jsonl_is_equal(folder),
        }
        for sentence, is_true in checks.items():
            print(f"{sentence}: {'yes' if is_true else 'NO'}", flush=True)
    return 0 if all(checks.values()) else 1


def fill(folder: Path, turns: int, *, ingest: bool) -> int:
    """Parse copies of the samples until there are enough turns; return their number."""
    archives, lake = folder / "archives", Lake(folder / "lake")
    options = ("--lake", str(lake.root), "--json")
    copies = rows = 0
    while rows < turns:
        # The first copy says how many turns one has.
        copies = -(-turns * copies // rows) if rows else copies + 1
        for copy in range(copies):
            if not (archives / str(copy)).exists():
                large_lake.write_copy(archives / str(copy), copy)
        large_lake.run(("parse", str(archives), *options), folder)
        rows = sum(file.metadata.turns for file in lake.turn_files())
    large_lake.run(("filter", *options), folder)
    if ingest:
        seconds, _ = large_lake.run(("ingest", *options), folder)
        print(f"ingested in {seconds:.0f} s", flush=True)
    return rows


def exported(folder: Path, name: ExportFormat, *, again: bool = False) -> None:
    output = folder / f"export.{name}"
    arguments = ("--output", str(output), "--format", name, "--lake", str(folder / "lake"))
    seconds, counts = large_lake.run(("export", *arguments, "--json"), folder)
    second = ", unchanged" if again and not counts["changed"] else ""
    print(
        f"{seconds:6.1f} s  export {name}{second}: {counts['turns']:,} turns, "
        f"{counts['entities']:,} entities, {counts['facts']:,} facts, {counts['files']:,} files, "
        f"{counts['bytes'] / 1e6:,.1f} MB",
        flush=True,
    )


def imported(folder: Path) -> bool:
    """Import the export twice; return whether all rows are equal and the second added nothing."""
    source, lake = folder / f"export.{ExportFormat.PARQUET}", folder / "imported"
    arguments = ("import", str(source), "--machine", MACHINE, "--lake", str(lake), "--json")
    for number in ("first", "second"):
        seconds, counts = large_lake.run(arguments, folder)
        print(f"{seconds:6.1f} s  {number} import: {counts['added']:,} turns added", flush=True)
    return counts["added"] == 0 and rows_of(Lake(folder / "lake")).equals(rows_of(Lake(lake)))


def rows_of(lake: Lake) -> pl.DataFrame:
    """Return all rows of the turns files, without the machine of their archives."""
    rows = pl.concat([lake.scan_turns(group).collect() for group in lake.groups()])
    plain = rows.with_columns(pl.col("archive").str.strip_prefix(f"{MACHINE}:"))
    return plain.sort("archive", "first_line", "turn_id")


def jsonl_is_equal(folder: Path) -> bool:
    """Return whether the file holds each turn of the episodes tables as it is."""
    lines = (folder / f"export.{ExportFormat.JSONL}").read_text("utf-8").splitlines()
    rows = (json.loads(line) for line in lines if not line.startswith(JSONL_MARK.decode()))
    found = {row["turn_id"]: row for row in rows if row["kind"] == "turn"}
    lake = Lake(folder / "lake")
    expected: dict[str, Mapping[str, Any]] = {}
    for group in lake.groups():
        for episode in lake.episodes(group):
            row = turn_row(ExportedTurn(episode.turn, episode.noise, episode.copies))
            expected[episode.turn_id] = msgspec.json.decode(msgspec.json.encode(row))
    return found == expected


if __name__ == "__main__":
    sys.exit(main())
