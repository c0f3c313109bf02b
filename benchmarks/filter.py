"""What the filter costs: turns files in, episodes tables out, in a process of its own.

The turns of tests/real.py's archives, repeated until there are enough of them: each time with other
ids, sessions, times and words, so that no turn is another's copy. Twice: all turns as they come,
most of them short ones of chats, in files of as many turns as the archives have; and the turns of
coding agents alone, each with many calls.

    python -m benchmarks.filter [--turns N] [--agents N] [--keep FOLDER]

Exits with 1 beyond a promise. CPU-seconds are user and system, of all threads.
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

from benchmarks.cost import Cost, apart, at_most
from benchmarks.parse import Nothing
from tests import real
from turnetl import episodes, noise, parse
from turnetl.episodes import FilterReport, Filters
from turnetl.ingest import candidates, plan
from turnetl.lake import ArchiveMetadata, Lake
from turnetl.model import GroupId

CPU, MEMORY = 15.0, 2000.0
"""Promises for 200,000 turns of the usual mixture in one group: seconds, and MB."""
TURNS, AGENTS = 200_000, 20_000
AGENT_FORMATS = ["claude_code", "codex"]
ONE, SEVERAL = GroupId("one"), 10
TOGETHER = 8
"""Sessions of agents in a file: the archives at hand are slices of three turns each."""
SHORT = 40
"""Characters of a text that stays as it is: what is so short may be noise by its very words."""
NOW = datetime(2030, 1, 1, tzinfo=UTC)

Way = Callable[[Path], str]


def main(turns: int, agents: int, folder: Path) -> bool:
    mixed, alone = folder / "mixed", folder / "agents"
    if not mixed.exists():
        make(mixed, real_turns(folder), turns, together=1)
    if not alone.exists():
        of_agents = pl.col("format").is_in(AGENT_FORMATS)
        make(alone, real_turns(folder).filter(of_agents), agents, together=TOGETHER)
    costs = [*measure("all turns", mixed), *measure("turns of agents", alone)]
    print()
    first = costs[0]
    return all(
        [
            at_most("CPU-seconds for all turns in one group", first.cpu, CPU),
            at_most("MB, at most, of all", max(cost.peak for cost in costs), MEMORY),
        ]
    )


def measure(name: str, lakes: Path) -> list[Cost]:
    """Return the costs, of one large group first."""
    print(f"\n{name}: {said(lakes / 'one')}")
    ways: Mapping[str, tuple[Way, Path]] = {
        "one group": (made, lakes / "one"),
        "again, nothing changed": (made, lakes / "one"),
        "again, one rule changed": (changed, lakes / "one"),
        "status": (planned, lakes / "one"),
        "all turns for an ingest": (ingested, lakes / "one"),
        f"{SEVERAL} groups": (made, lakes / "several"),
    }
    for path in lakes.glob("*/episodes/*.parquet"):
        path.unlink()
    costs = []
    for what, (way, lake) in ways.items():
        costs.append(cost := apart(way, lake))
        print(f"  {what:<26}{cost.cpu:6.1f} CPU-s {cost.wall:6.1f} s on the clock", end="")
        print(f"{cost.peak:7.0f} MB   {cost.said}", flush=True)
    tables = sum(path.stat().st_size for path in lakes.glob("one/episodes/*.parquet"))
    print(f"  {tables / 1e6:.0f} MB of tables")
    return costs


def said(folder: Path) -> str:
    lake = Lake(folder)
    calls = pl.col("tool_calls").list.len().mean().alias("calls")
    rows = lake.scan_turns(ONE).select(pl.len(), pl.col("chars").mean(), calls).collect()
    turns, chars, held = rows.row(0)
    paths = lake.turn_paths(ONE)
    size = sum(path.stat().st_size for path in paths)
    return (
        f"{turns:,} in {len(paths):,} files of {size / 1e6:.0f} MB, "
        f"on the average {chars:,.0f} chars and {held:.1f} calls"
    )


def made(folder: Path) -> str:
    lake = Lake(folder)
    return told(episodes.build(lake, lake.groups()))


def changed(folder: Path) -> str:
    lake = Lake(folder)
    *others, last = noise.RULES
    another = replace(last, version=last.version + 1)
    return told(episodes.build(lake, lake.groups(), filters=Filters(rules=(*others, another))))


def planned(folder: Path) -> str:
    """Read what `status` reads of a table."""
    lake, scope = Lake(folder), plan.Scope(now=NOW)
    rows = [candidates.candidate_rows(lake, group, scope) for group in lake.groups()]
    return f"{sum(of.select(plan.COLUMNS).collect().height for of in rows):,} turns"


def ingested(folder: Path) -> str:
    """Read all turns as an ingest does that has all of them to do."""
    lake, scope = Lake(folder), plan.Scope(now=NOW)
    rows = candidates.candidate_rows(lake, ONE, scope)
    named = rows.select("turn_id").collect()["turn_id"].to_list()
    values = candidates.load_episodes(rows, named, batch_rows=candidates.BATCH_ROWS)
    return f"{sum(1 for _ in values):,} turns"


def told(report: FilterReport) -> str:
    skipped = all(group.skipped for group in report.groups)
    return "unchanged" if skipped else f"{report.kept:,} of {report.turns:,} turns kept"


def real_turns(folder: Path) -> pl.DataFrame:
    """Return the turns of the archives at hand."""
    lake = Lake(folder / "real")
    if not lake.groups():
        found = parse.expand([real.ARCHIVES_OR_SAMPLES]).archives
        parse.parse_archives(found, lake, redactor=Nothing())
    return pl.concat([lake.scan_turns(group) for group in lake.groups()]).collect()


def make(folder: Path, of: pl.DataFrame, turns: int, *, together: int) -> None:
    """Write a lake with one group of so many turns, and one with the same in several groups."""
    one, several = Lake(folder / "one"), folder / "several" / "turns"
    copies = math.ceil(turns / of.height)
    left = turns
    for first in range(0, copies, together):
        copied = pl.concat(
            [varied(of, copy, first) for copy in range(first, min(first + together, copies))]
        ).head(left)
        left -= copied.height
        for rows in copied.partition_by("archive", maintain_order=True):
            path = one.write_turns(rows, origin(rows["archive"][0]), previous_files=())
            link = several / f"group_{int(path.stem[:8], 16) % SEVERAL}" / path.name
            link.parent.mkdir(parents=True, exist_ok=True)
            os.link(path, link)


def varied(of: pl.DataFrame, copy: int, archive: int) -> pl.DataFrame:
    """Return the turns as of another session, some days later, in other words."""
    names = ["turn_id", "session_id", "prompt_id", "parent_session_id", "content_hash"]
    day = timedelta(days=copy, seconds=7 * copy)
    call = pl.element().struct
    outcome = worded(call.field("result"), copy).alias("result")
    call_at = (call.field("ended_at") + day).alias("ended_at")
    tool = call.with_fields(worded(call.field("input"), copy).alias("input"), outcome, call_at)
    return of.with_columns(
        *((f"{copy:x}-" + pl.col(name)).alias(name) for name in names),
        pl.col("started_at", "ended_at") + day,
        worded(pl.col("user_text"), copy),
        worded(pl.col("assistant_text"), copy),
        pl.col("tool_calls").list.eval(tool),
        pl.col("archive") + f"-{archive}",
        group_id=pl.lit(ONE),
    )


def worded(text: pl.Expr, copy: int) -> pl.Expr:
    """Return a text with some words of its own."""
    other = {" the ": f" the {copy:x}th ", " is ": f" is {copy} times ", "0": str(copy % 10)}
    said = text.str.replace_many(other)
    return pl.when(text.str.len_chars() > SHORT).then(said).otherwise(text)


def origin(archive: str) -> ArchiveMetadata:
    return ArchiveMetadata(
        archive=archive,
        size=1,
        mtime_ns=1,
        sha256=archive,
        format="claude_code",
        reader_version=1,
        redactor_version="none",
        group=ONE,
        group_is_explicit=False,
        counts={},
    )


def given() -> argparse.Namespace:
    told_ = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    told_.add_argument("--turns", type=int, default=TURNS)
    told_.add_argument("--agents", type=int, default=AGENTS)
    told_.add_argument("--keep", type=Path, help="where the turns are made, and found again")
    return told_.parse_args()


if __name__ == "__main__":
    asked = given()
    with tempfile.TemporaryDirectory() as temporary:
        kept_at = asked.keep or Path(temporary)
        sys.exit(not main(asked.turns, asked.agents, kept_at))
