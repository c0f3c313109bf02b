"""Time and memory of `turnetl verify` over 10,000 turns: at most 20 s and 500 MB.

    python -m benchmarks.verify [ladybug] [neo4j] [--turns NUMBER]

The graph holds the turns of `benchmarks.commit`: 8 entities and 10 facts each, with vectors of 256
dimensions, in sessions of twenty. It is filled in batches, without a transaction per turn. Neo4j
takes minutes per 1,000 turns, so that it gets 2,000 unless --turns says otherwise. The
command is run as a process; its time includes the start of Python, and its memory is the peak of
the process. That of a Neo4j server is not included.
"""

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from itertools import chain, islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import ladybug
import numpy as np
import pyarrow as pa
from neo4j import AsyncGraphDatabase

from benchmarks.commit import DIMENSIONS, PROFILE, synthetic
from tests.graph.sample_changes import NOW, TTL, receipt
from tests.servers import neo4j_server
from turnetl.graph import ladybug_rows, neo4j_rows, to_rows
from turnetl.graph.open import open_graph
from turnetl.model import Change, GroupId

TURNS = {"ladybug": 10_000, "neo4j": 2_000}
"""By graph."""
SECONDS = 20
MEGABYTES = 500
BATCH = 500
"""Turns that are written together."""
GROUP = GroupId("bench")
PROGRAM = """
import sys, time
from pathlib import Path
from turnetl.cli import main
try:
    main()
finally:
    # The peak that wait4 returns includes that of the parent process before exec.
    status = Path("/proc/self/status").read_text()
    [peak] = [line for line in status.splitlines() if line.startswith("VmHWM")]
    print(time.process_time(), int(peak.split()[1]) / 1024, file=sys.stderr)
"""
"""The command, which prints its seconds of CPU and its peak of memory at the end."""
Rows = list[dict[str, Any]]


async def fill(url: str, turns: int) -> None:
    """Write the turns as their commits would."""
    store = await open_graph(url, user="", password="")
    await store.prepare()
    lease = await store.acquire(
        GROUP, PROFILE, owner="bench", now=NOW, ttl=TTL, is_dead=lambda _: False
    )
    await store.release(lease)
    await store.close()
    changes = synthetic(GROUP, turns)
    written = 0
    while batch := list(islice(changes, BATCH)):
        numbered = list(enumerate(batch, start=written + 1))
        await (fill_ladybug if url.startswith("ladybug") else fill_neo4j)(url, numbered)
        written += len(batch)
        print(f"{written:,} turns written", flush=True)
    end = f"MATCH (g:TurnGroup) SET g.sequence = {written}"
    await (run_ladybug if url.startswith("ladybug") else run_neo4j)(url, [(end, {})])


async def fill_neo4j(url: str, changes: Sequence[tuple[int, Change]]) -> None:
    """Run the statements of a batch in one transaction."""
    statements = [
        statement
        for number, change in changes
        for statement in neo4j_rows.statements(change, receipt(change), NOW, sequence=number)
    ]
    await run_neo4j(url, statements)


async def run_neo4j(url: str, statements: Iterable[tuple[Any, dict[str, Any]]]) -> None:
    parts = urlsplit(url)
    auth = (parts.username or "", parts.password or "")
    address = f"{parts.scheme}://{parts.hostname}:{parts.port}"
    async with (
        AsyncGraphDatabase.driver(address, auth=auth, telemetry_disabled=True) as driver,
        driver.session() as session,
        await session.begin_transaction() as transaction,
    ):
        for query, parameters in statements:
            await transaction.run(query, parameters)
        await transaction.commit()


async def fill_ladybug(url: str, changes: Sequence[tuple[int, Change]]) -> None:
    """Copy a batch of tables; facts and entities keep the state in which they were created."""
    new = list(chain.from_iterable(_new_values(change) for _, change in changes))
    entities = [row for kind, row in new if kind == "entity"]
    facts = [row for kind, row in new if kind == "fact"]
    turns = [change for _, change in changes]
    sagas = {row["uuid"]: row for row in (to_rows.saga_row(turn, NOW) for turn in turns)}
    commits = [to_rows.commit_row(turn, receipt(turn), number) for number, turn in changes]
    tables = [
        ("Episodic", _flat(to_rows.episode_rows(turn, NOW) for turn in turns)),
        ("Entity", entities),
        ("RelatesToNode_", facts),
        ("Saga", [{**row, **_bounds(turns, row["name"])} for row in sagas.values()]),
        ("TurnCommit", commits),
    ]
    links = [
        ("MENTIONS", to_rows.mention_links),
        ("HAS_EPISODE", to_rows.saga_links),
        ("NEXT_EPISODE", to_rows.next_links),
    ]
    ends = [(fact["source_node_uuid"], fact["uuid"]) for fact in facts]
    targets = [(fact["uuid"], fact["target_node_uuid"]) for fact in facts]
    with ladybug.Database(urlsplit(url).path) as database, ladybug.Connection(database) as opened:
        for name, rows in tables:
            _copy(opened, name, rows)
        for name, links_of in links:
            rows = [asdict(link) for turn in turns for link in links_of(turn)]
            _copy_links(opened, name, rows)
        _copy_ends(opened, ends, "Entity", "RelatesToNode_")
        _copy_ends(opened, targets, "RelatesToNode_", "Entity")


async def run_ladybug(url: str, statements: Iterable[tuple[str, dict[str, Any]]]) -> None:
    with ladybug.Database(urlsplit(url).path) as database, ladybug.Connection(database) as opened:
        for query, parameters in statements:
            opened.execute(query, parameters)


def _new_values(change: Change) -> Iterator[tuple[str, dict[str, Any]]]:
    before = {entity.uuid for entity in change.entities_before}
    before.update(fact.uuid for fact in change.facts_before)
    for entity in change.entities:
        if entity.uuid not in before:
            yield "entity", ladybug_rows.entity_parameters(entity)
    for fact in change.facts:
        if fact.uuid not in before:
            yield "fact", {**to_rows.fact_row(fact), "attributes": "{}"}


def _bounds(turns: Sequence[Change], session: str) -> dict[str, str]:
    of_session = [turn.episode.turn_id for turn in turns if turn.episode.turn.session_id == session]
    return {"first_episode_uuid": of_session[0], "last_episode_uuid": of_session[-1]}


def _flat(rows: Iterable[Rows]) -> Rows:
    return list(chain.from_iterable(rows))


def _copy(opened: Any, name: str, rows: Rows) -> None:
    """Copy rows into a node table whose columns have the names of their keys."""
    columns = [row[1] for row in opened.execute(f"CALL table_info('{name}') RETURN *").get_all()]
    types = [row[2] for row in opened.execute(f"CALL table_info('{name}') RETURN *").get_all()]
    table = pa.table(
        [
            _column([row.get(column) for row in rows], kind)
            for column, kind in zip(columns, types, strict=True)
        ],
        names=columns,
    )
    opened.execute(f"COPY {name} FROM $rows", {"rows": table})


def _column(values: list[Any], kind: str) -> pa.Array:
    if kind == "FLOAT[]":
        numbers = np.asarray(values, dtype=np.float32).reshape(-1)
        offsets = np.arange(0, len(numbers) + 1, DIMENSIONS, dtype=np.int32)
        return pa.ListArray.from_arrays(pa.array(offsets), pa.array(numbers))
    types = {
        "STRING": pa.string(),
        "INT64": pa.int64(),
        "DOUBLE": pa.float64(),
        "STRING[]": pa.list_(pa.string()),
        "TIMESTAMP": pa.timestamp("us"),
    }
    if kind == "TIMESTAMP":
        values = [value.replace(tzinfo=None) if value is not None else None for value in values]
    if kind == "INT64":
        values = [None if value is None else int(value) for value in values]
    return pa.array(values, types[kind])


def _copy_links(opened: Any, name: str, links: Rows) -> None:
    table = pa.table(
        {
            "source": [link["source"] for link in links],
            "target": [link["target"] for link in links],
            "uuid": [link["uuid"] for link in links],
            "group_id": [GROUP] * len(links),
            "created_at": pa.array([NOW.replace(tzinfo=None)] * len(links), pa.timestamp("us")),
        }
    )
    opened.execute(f"COPY {name} FROM $rows", {"rows": table})


def _copy_ends(opened: Any, ends: list[tuple[str, str]], source: str, target: str) -> None:
    table = pa.table({"source": [end[0] for end in ends], "target": [end[1] for end in ends]})
    copy = f"COPY RELATES_TO FROM $rows (from='{source}', to='{target}')"
    opened.execute(copy, {"rows": table})


def measure(name: str, url: str, folder: Path) -> bool:
    """Run the command, print what it took, and return whether that is within the limits."""
    arguments = ["verify", "--lake", str(folder / "lake"), "--graph", url]
    start = time.perf_counter()
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - start
    cpu, megabytes = map(float, process.stderr.splitlines()[-1].split())
    print(process.stdout)
    print(
        f"{name}: exit code {process.returncode}, {seconds:.1f} s ({cpu:.1f} s of CPU), "
        f"{megabytes:.0f} MB; at most {SECONDS} s and {MEGABYTES} MB",
        flush=True,
    )
    return process.returncode == 0 and seconds <= SECONDS and megabytes <= MEGABYTES


@asynccontextmanager
async def graph(name: str, folder: Path) -> AsyncGenerator[str]:
    """Yield the URL of an empty graph."""
    if name == "ladybug":
        yield f"ladybug://{folder / 'graph.lbug'}"
        return
    with neo4j_server.running(folder) as server:
        yield server.url


async def main(names: Sequence[str], turns: int | None) -> int:
    results = []
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            async with graph(name, Path(folder)) as url:
                await fill(url, turns or TURNS[name])
                results.append(measure(name, url, Path(folder)))
    return 0 if all(results) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*", default=["ladybug", "neo4j"])
    parser.add_argument("--turns", type=int)
    arguments = parser.parse_args()
    sys.exit(asyncio.run(main(arguments.graphs, arguments.turns)))
