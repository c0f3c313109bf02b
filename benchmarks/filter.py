"""Measure the cost of the filter: turns files in, episodes tables out, in a separate process.

The turns of tests/real_archives.py's archives are repeated until there are enough, each time with
other ids, sessions, times and words, so that no turn is a copy of another. There are two mixtures:
all turns, mostly short ones of chats, in files with as many turns as the archives have; and the
turns of coding agents alone, each with many tool calls.

    python -m benchmarks.filter [--turns N] [--agents N] [--keep FOLDER]

Exits with 1 if a limit is exceeded. CPU-seconds are user plus system time of all threads.
"""

import argparse
import math
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl

from benchmarks.cost import Cost, at_most, measure_cost
from tests import real_archives
from tests.fakes.redactors import NoRedactor
from turnetl import episodes, noise, parsing
from turnetl.base.model import GroupId
from turnetl.episodes import FilterReport, Filters
from turnetl.ingestion import plan
from turnetl.ingestion.group import BATCH_ROWS, candidate_rows, load_episodes
from turnetl.lake import ArchiveMetadata, Lake

MAX_CPU_SECONDS, MAX_MEMORY_MB = 15.0, 2000.0
"""Limits for 200,000 turns of all kinds in one group: CPU-seconds, and MB of memory."""
MAX_REMARKED = 0.2
"""CPU-seconds after the change of a rule, as a share of those of a full run, also if the table is
written with other marks."""
TURNS, AGENT_TURNS = 200_000, 20_000
AGENT_FORMATS = ["claude_code", "codex"]
SINGLE_GROUP, GROUPS = GroupId("one"), 10
SESSIONS_PER_FILE = 8
"""Sessions of agents per file: each archive is an excerpt of three turns."""
UNVARIED_CHARS = 40
"""Maximum characters of a text that is not varied: its words may be what makes it noise."""
NOW = datetime(2030, 1, 1, tzinfo=UTC)

Measured = Callable[[Path], str]
"""Takes the folder of a lake and returns a short description of the result."""


def main(turns: int, agents: int, folder: Path) -> bool:
    all_turns, agent_turns = folder / "mixed", folder / "agents"
    if not all_turns.exists():
        write_lakes(all_turns, real_turns(folder), turns, together=1)
    if not agent_turns.exists():
        of_agents = pl.col("format").is_in(AGENT_FORMATS)
        write_lakes(
            agent_turns, real_turns(folder).filter(of_agents), agents, together=SESSIONS_PER_FILE
        )
    costs = measure("all turns", all_turns)
    first, _, remarked, other_marks, *_ = costs
    costs += measure("turns of agents", agent_turns)
    print()
    return all(
        [
            at_most("CPU-seconds for all turns in one group", first.cpu, MAX_CPU_SECONDS),
            at_most("of them after the change of a rule", remarked.cpu / first.cpu, MAX_REMARKED),
            at_most("of them with other marks", other_marks.cpu / first.cpu, MAX_REMARKED),
            at_most(
                "MB of memory, maximum of all", max(cost.peak for cost in costs), MAX_MEMORY_MB
            ),
        ]
    )


def measure(name: str, lakes: Path) -> list[Cost]:
    """Return the costs; that of one large group comes first."""
    print(f"\n{name}: {description(lakes / 'one')}")
    cases: Mapping[str, tuple[Measured, Path]] = {
        "one group": (build, lakes / "one"),
        "again, nothing changed": (build, lakes / "one"),
        "again, one rule changed": (build_with_changed_rule, lakes / "one"),
        "again, other marks": (build_with_fewer_rules, lakes / "one"),
        "status": (read_status, lakes / "one"),
        "all turns for an ingest": (read_for_ingest, lakes / "one"),
        f"{GROUPS} groups": (build, lakes / "several"),
    }
    for path in lakes.glob("*/episodes/*.parquet"):
        path.unlink()
    costs = []
    for case, (measured, lake) in cases.items():
        costs.append(cost := measure_cost(measured, lake))
        print(f"  {case:<26}{cost.cpu:6.1f} CPU-s {cost.wall:6.1f} s elapsed", end="")
        print(f"{cost.peak:7.0f} MB   {cost.result}", flush=True)
    tables = sum(path.stat().st_size for path in lakes.glob("one/episodes/*.parquet"))
    print(f"  {tables / 1e6:.0f} MB of tables")
    return costs


def description(folder: Path) -> str:
    lake = Lake(folder)
    calls = pl.col("tool_calls").list.len().mean().alias("calls")
    rows = lake.scan_turns(SINGLE_GROUP).select(pl.len(), pl.col("chars").mean(), calls).collect()
    turns, chars, calls_per_turn = rows.row(0)
    paths = lake.turn_paths(SINGLE_GROUP)
    size = sum(path.stat().st_size for path in paths)
    return (
        f"{turns:,} in {len(paths):,} files of {size / 1e6:.0f} MB, "
        f"on average {chars:,.0f} chars and {calls_per_turn:.1f} calls"
    )


def build(folder: Path) -> str:
    lake = Lake(folder)
    return summary(episodes.build(lake, lake.groups()))


def build_with_changed_rule(folder: Path) -> str:
    lake = Lake(folder)
    *others, last = noise.RULES
    changed = replace(last, version=last.version + 1)
    return summary(episodes.build(lake, lake.groups(), filters=Filters(rules=(*others, changed))))


def build_with_fewer_rules(folder: Path) -> str:
    lake = Lake(folder)
    return summary(episodes.build(lake, lake.groups(), filters=Filters(rules=noise.RULES[3:])))


def read_status(folder: Path) -> str:
    """Read the columns that `status` reads of a table."""
    lake, scope = Lake(folder), plan.Scope(now=NOW)
    rows = [candidate_rows(lake, group, scope) for group in lake.groups()]
    return f"{sum(group_rows.select(plan.COLUMNS).collect().height for group_rows in rows):,} turns"


def read_for_ingest(folder: Path) -> str:
    """Read all turns as an ingest of all of them does."""
    lake, scope = Lake(folder), plan.Scope(now=NOW)
    rows = candidate_rows(lake, SINGLE_GROUP, scope)
    turn_ids = rows.select("turn_id").collect()["turn_id"].to_list()
    values = load_episodes(rows, turn_ids, batch_rows=BATCH_ROWS)
    return f"{sum(1 for _ in values):,} turns"


def summary(report: FilterReport) -> str:
    unchanged = all(group.unchanged for group in report.groups)
    return "unchanged" if unchanged else f"{report.kept:,} of {report.turns:,} turns kept"


def real_turns(folder: Path) -> pl.DataFrame:
    """Return the turns of the available archives."""
    lake = Lake(folder / "real")
    if not lake.groups():
        found = parsing.expand([real_archives.ARCHIVES_OR_SAMPLES]).archives
        parsing.parse_archives(found, lake, redactor=NoRedactor())
    return pl.concat([lake.scan_turns(group) for group in lake.groups()]).collect()


def write_lakes(folder: Path, source: pl.DataFrame, turns: int, *, together: int) -> None:
    """Write a lake with that number of turns in one group, and one with the same in several."""
    one, several = Lake(folder / "one"), folder / "several" / "turns"
    copies = math.ceil(turns / source.height)
    remaining = turns
    for first in range(0, copies, together):
        copied = pl.concat(
            [vary(source, copy, first) for copy in range(first, min(first + together, copies))]
        ).head(remaining)
        remaining -= copied.height
        for rows in copied.partition_by("archive", maintain_order=True):
            path = one.write_turns(rows, archive_metadata(rows["archive"][0]), previous_files=())
            link = several / f"group_{int(path.stem[:8], 16) % GROUPS}" / path.name
            link.parent.mkdir(parents=True, exist_ok=True)
            os.link(path, link)


def vary(source: pl.DataFrame, copy: int, archive: int) -> pl.DataFrame:
    """Return the turns with other sessions, times and words."""
    names = ["turn_id", "session_id", "prompt_id", "parent_session_id", "content_hash"]
    day = timedelta(days=copy, seconds=7 * copy)
    call = pl.element().struct
    result = reword(call.field("result"), copy).alias("result")
    ended_at = (call.field("ended_at") + day).alias("ended_at")
    tool = call.with_fields(reword(call.field("input"), copy).alias("input"), result, ended_at)
    return source.with_columns(
        *((f"{copy:x}-" + pl.col(name)).alias(name) for name in names),
        pl.col("started_at", "ended_at") + day,
        reword(pl.col("user_text"), copy),
        reword(pl.col("assistant_text"), copy),
        pl.col("tool_calls").list.eval(tool),
        pl.col("archive") + f"-{archive}",
        group_id=pl.lit(SINGLE_GROUP),
    )


def reword(text: pl.Expr, copy: int) -> pl.Expr:
    """Return a text with some other words."""
    replacements = {" the ": f" the {copy:x}th ", " is ": f" is {copy} times ", "0": str(copy % 10)}
    replaced = text.str.replace_many(replacements)
    return pl.when(text.str.len_chars() > UNVARIED_CHARS).then(replaced).otherwise(text)


def archive_metadata(archive: str) -> ArchiveMetadata:
    return ArchiveMetadata(
        archive=archive,
        size=1,
        mtime_ns=1,
        sha256=archive,
        format="claude_code",
        reader_version=1,
        redactor_version="none",
        group=SINGLE_GROUP,
        group_is_explicit=False,
        counts={},
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--agents", type=int, default=AGENT_TURNS)
    parser.add_argument("--keep", type=Path, help="folder for the lakes, reused by the next run")
    return parser.parse_args()


if __name__ == "__main__":
    args = arguments()
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(not main(args.turns, args.agents, args.keep or Path(temporary)))
