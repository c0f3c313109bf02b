"""Fill a graph with synthetic turns in bulk: what it then holds is what their commits would write.

Ladybug copies tables; facts and entities keep the state in which they were created. Neo4j gets the
statements of the store, each for the rows of many turns.
"""

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import chain, islice
from typing import Any, LiteralString
from urllib.parse import urlsplit

import ladybug
import numpy as np
import pyarrow as pa
from neo4j import AsyncGraphDatabase

from benchmarks.commit import DIMENSIONS, PROFILE, synthetic
from tests.graph.sample_changes import NOW, TTL, receipt
from turnetl.base.ids import digest
from turnetl.base.model import Change, GroupId
from turnetl.graph import to_rows
from turnetl.graph.ladybug import rows as ladybug_rows
from turnetl.graph.neo4j import cypher
from turnetl.graph.neo4j import rows as neo4j_rows
from turnetl.graph.neo4j.cypher import with_shared_times
from turnetl.graph.open import open_graph
from turnetl.summaries.records import EntityRecord, Refresh, encode_records

BATCH = 500
"""Turns that are written together, unless the caller says otherwise."""
GROUP = GroupId("bench")
Rows = list[dict[str, Any]]
_SUMMARY = "The module changed how totals round, after the test failed on an empty cart. " * 5

_OF_TURN = re.sub(r"\$(saga|first|last|commit|episodes)\b", r"turn.\1", cypher.CREATE_TURN)
_CREATE_TURNS: Any = f"UNWIND $turns AS turn CALL (turn) {{ {_OF_TURN} }}"


async def fill(url: str, turns: int, *, at_once: int = BATCH, are_summarised: bool = False) -> None:
    """Write the turns of `benchmarks.commit` into a graph that holds none of them.

    Args:
        url: of the graph.
        turns: to write.
        at_once: turns that are written together.
        are_summarised: each turn records something about the summaries of its entities.
    """
    store = await open_graph(url, user="", password="")
    await store.prepare()
    lease = await store.acquire(
        GROUP, PROFILE, owner="bench", now=NOW, ttl=TTL, is_dead=lambda _: False
    )
    await store.release(lease)
    await store.close()
    changes = synthetic(GROUP, turns)
    if are_summarised:
        changes = (replace(change, summaries=summary_records(change)) for change in changes)
    written = 0
    while batch := list(islice(changes, at_once)):
        numbered = list(enumerate(batch, start=written + 1))
        await (fill_ladybug if url.startswith("ladybug") else fill_neo4j)(url, numbered)
        written += len(batch)
        print(f"{written:,} turns written", flush=True)
    end = f"MATCH (g:TurnGroup) SET g.sequence = {written}"
    await (run_ladybug if url.startswith("ladybug") else run_neo4j)(url, [(end, {})])


def summary_records(change: Change) -> str:
    """Return what a turn records about the summaries of its entities: a third of them is new."""
    started = change.episode.turn.started_at or NOW
    vector = b64encode(bytes(range(256))[:DIMENSIONS]).decode()
    return encode_records(
        EntityRecord(
            uuid,
            Refresh(digest(uuid), started, _SUMMARY, vector, PROFILE.embedder)
            if number % 3 == 0
            else None,
            turns=(started,) * 5,
            pending=(digest(uuid, "pending"),),
        )
        for number, uuid in enumerate(change.mentions)
    )


async def fill_neo4j(url: str, changes: Sequence[tuple[int, Change]]) -> None:
    """Write a batch in one transaction, each statement once, with the rows of all turns.

    In a synthetic turn, every statement but the first takes nothing but rows from the turn, and
    needs nothing of a later turn; an entity that many turns change keeps the state of the last.
    """
    turns: list[dict[str, Any]] = []
    rows: dict[LiteralString, Rows] = {}
    shared: dict[str, Any] = {}
    for number, change in changes:
        first, *others = neo4j_rows.statements(change, receipt(change), NOW, sequence=number)
        turns.append(first[1])
        for query, parameters in others:
            rows.setdefault(query, []).extend(parameters["rows"])
            shared = {name: parameters[name] for name in ("group", "now")}
    with_rows = ((query, {**shared, "rows": of_query}) for query, of_query in rows.items())
    await run_neo4j(url, [(_CREATE_TURNS, {**shared, "turns": turns}), *with_rows])


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
            sent = with_shared_times(parameters) if "rows" in parameters else parameters
            await transaction.run(query, sent)
        await transaction.commit()


async def fill_ladybug(url: str, changes: Sequence[tuple[int, Change]]) -> None:
    """Copy a batch of tables; facts and entities keep the state in which they were created."""
    new = list(chain.from_iterable(_new_values(change) for _, change in changes))
    entities = [row for kind, row in new if kind == "entity"]
    facts = [row for kind, row in new if kind == "fact"]
    turns = [change for _, change in changes]
    sagas = {row["uuid"]: row for row in (to_rows.saga_row(turn, NOW) for turn in turns)}
    commits = [ladybug_rows.commit_row(turn, receipt(turn), number) for number, turn in changes]
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
