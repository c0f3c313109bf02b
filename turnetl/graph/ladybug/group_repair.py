"""Repair a group in Ladybug, and read it as tables. The functions run in the client's thread.

A fact's ends are read apart from the facts: a pattern over both finds no fact that lacks one.
"""

from dataclasses import asdict
from datetime import datetime
from typing import assert_never

import polars as pl

from turnetl.base import ids
from turnetl.base.model import GroupId
from turnetl.graph import group_tables, to_rows
from turnetl.graph.group_repair import (
    DoubleMention,
    GroupRepair,
    SessionLinks,
    UnattachedFact,
    UnusedEntity,
)
from turnetl.graph.group_tables import GroupTables
from turnetl.graph.ladybug import cypher, rows
from turnetl.graph.ladybug.client import LadybugClient
from turnetl.graph.ladybug.reversal import delete_fact, delete_unused_entity

_MENTIONS = """
MATCH (e:Episodic {uuid: $episode})-[r:MENTIONS]->(n:Entity {uuid: $entity}) RETURN r.uuid
"""
_DELETE_MENTION = """
MATCH (e:Episodic {uuid: $episode})-[r:MENTIONS]->(n:Entity {uuid: $entity})
WHERE r.uuid = $uuid DELETE r
"""
_UNLINK_SAGA = """
MATCH (s:Saga {uuid: $source})-[r:HAS_EPISODE]->(e:Episodic {uuid: $target}) DELETE r
"""
_FACT_ENDS = (
    "MATCH (e:RelatesToNode_ {uuid: $uuid}) WITH e MATCH (:Entity)-[:RELATES_TO]->(e) RETURN 1",
    "MATCH (e:RelatesToNode_ {uuid: $uuid}) WITH e MATCH (e)-[:RELATES_TO]->(:Entity) RETURN 1",
)


def repair(client: LadybugClient, group: GroupId, repair: GroupRepair, now: datetime) -> None:
    """Make the repair; as `GraphStore.repair`, in a transaction of the caller."""
    match repair:
        case DoubleMention():
            _keep_one_mention(client, repair)
        case SessionLinks():
            _repair_session(client, group, repair, now)
        case UnattachedFact(uuid):
            if not any(client.query(query, {"uuid": uuid}) for query in _FACT_ENDS):
                delete_fact(client, uuid)
        case UnusedEntity():
            _delete_entity(client, repair)
        case _:
            assert_never(repair)


def _keep_one_mention(client: LadybugClient, double: DoubleMention) -> None:
    """Keep the one that a commit would have made, if there is one."""
    ends = {"episode": double.episode, "entity": double.entity}
    own = ids.edge_id("MENTIONS", double.episode, double.entity)
    uuids = [uuid for (uuid,) in client.query(_MENTIONS, ends)]
    for uuid in sorted(uuids, key=lambda uuid: (uuid != own, uuid))[1:]:
        client.query(_DELETE_MENTION, {**ends, "uuid": uuid})


def _repair_session(
    client: LadybugClient, group: GroupId, session: SessionLinks, now: datetime
) -> None:
    shared = {"group_id": group, "now": rows.without_zone(now)}
    saga = {"uuid": session.saga, "group_id": group, "name": session.session_id, "summary": ""}
    client.query(cypher.SAVE_SAGA, {**saga, "created_at": shared["now"]})
    for episode in session.saga_links_removed:
        client.query(_UNLINK_SAGA, {"source": session.saga, "target": episode})
    for source, target in session.next_links_removed:
        client.query(cypher.UNLINK_NEXT, {"source": source, "target": target})
    for link in to_rows.links_from("HAS_EPISODE", session.saga, session.saga_links_created):
        client.query(cypher.LINK_SAGA, asdict(link) | shared)
    for source, target in session.next_links_created:
        client.query(cypher.LINK_NEXT, asdict(to_rows.next_link(source, target)) | shared)
    bounds = ((cypher.SET_FIRST_EPISODE, session.first), (cypher.SET_LAST_EPISODE, session.last))
    for statement, episode in bounds:
        client.query(statement, {"source": session.saga, "target": episode})


def _delete_entity(client: LadybugClient, unused: UnusedEntity) -> None:
    if not delete_unused_entity(client, unused.uuid):
        return
    turn = {"turn_id": unused.turn_id}
    for (images,) in client.query(cypher.BEFORE_IMAGES_OF, turn):
        rewritten = to_rows.without_new_entity(images, unused.uuid)
        client.query(cypher.SET_BEFORE_IMAGES, turn | {"images": rewritten})


_OF_GROUP = "WHERE e.group_id = $group_id RETURN e.uuid AS uuid"
_ENTITIES = f"""
MATCH (e:Entity)
{_OF_GROUP}, e.name AS name, e.labels AS labels, size(e.name_embedding) AS dimensions
"""
_FACTS = f"""
MATCH (e:RelatesToNode_)
{_OF_GROUP}, e.episodes AS turns, e.valid_at AS valid_at, size(e.fact_embedding) AS dimensions
"""
_FACT_SOURCES = f"""
MATCH (n:Entity)-[:RELATES_TO]->(e:RelatesToNode_)
{_OF_GROUP}, n.uuid AS source, n.group_id AS source_group
"""
_FACT_TARGETS = f"""
MATCH (e:RelatesToNode_)-[:RELATES_TO]->(n:Entity)
{_OF_GROUP}, n.uuid AS target, n.group_id AS target_group
"""
_ALL_MENTIONS = """
MATCH (e:Episodic)-[:MENTIONS]->(n:Entity) WHERE e.group_id = $group_id
RETURN e.uuid AS episode, n.uuid AS entity, n.group_id AS entity_group
"""
_EPISODES = f"MATCH (e:Episodic) {_OF_GROUP}, e.source_description AS source_description"
_SAGAS = f"""
MATCH (e:Saga) {_OF_GROUP}, e.first_episode_uuid AS first, e.last_episode_uuid AS last
"""
_SAGA_LINKS = """
MATCH (s:Saga)-[:HAS_EPISODE]->(e:Episodic) WHERE e.group_id = $group_id
RETURN s.uuid AS source, e.uuid AS target
"""
_NEXT_LINKS = """
MATCH (a:Episodic)-[:NEXT_EPISODE]->(b:Episodic) WHERE a.group_id = $group_id
RETURN a.uuid AS source, b.uuid AS target
"""

_COMMITS_AT_ONCE = 1_000
"""Of which the rows, with before-images and records of summaries, are in memory: some megabytes."""


def read_tables(client: LadybugClient, group: GroupId) -> GroupTables:
    """Read the tables; nobody else can write the file meanwhile."""

    def read(query: str, columns: pl.Schema) -> pl.DataFrame:
        return _read(client, query, group, columns)

    commits = _commits(client, group)
    return GroupTables(
        commits=commits,
        entities=read(_ENTITIES, group_tables.ENTITIES),
        facts=_facts(client, group),
        mentions=read(_ALL_MENTIONS, group_tables.MENTIONS),
        episodes=read(_EPISODES, group_tables.EPISODES),
        sagas=read(_SAGAS, group_tables.SAGAS),
        saga_links=read(_SAGA_LINKS, group_tables.LINKS),
        next_links=read(_NEXT_LINKS, group_tables.LINKS),
        commits_after=commits,
    )


def _commits(client: LadybugClient, group: GroupId) -> pl.DataFrame:
    [(latest,)] = client.query(cypher.LATEST_COMMIT, {"group_id": group})
    starts = range(0, latest or 0, _COMMITS_AT_ONCE)
    parts = [_some_commits(client, group, start) for start in starts]
    return pl.concat([pl.DataFrame(schema=group_tables.COMMITS), *parts])


def _some_commits(client: LadybugClient, group: GroupId, after: int) -> pl.DataFrame:
    """Read the commits with the next numbers after this one."""
    *of_receipt, _, _, _ = group_tables.commit_columns()
    numbers = {"after": str(after), "last": str(after + _COMMITS_AT_ONCE)}
    commits = []
    for json, *recorded in client.rows(cypher.SOME_COMMITS, {"group_id": group, **numbers}):
        receipt = rows.receipt(json, group)
        values = (getattr(receipt, name) for name in of_receipt)
        commits.append(group_tables.commit_row([*values, *recorded]))
    return pl.DataFrame(commits, schema=group_tables.COMMITS, orient="row")


def _facts(client: LadybugClient, group: GroupId) -> pl.DataFrame:
    columns = group_tables.FACTS

    def read(query: str, *names: str) -> pl.DataFrame:
        return _read(client, query, group, pl.Schema({name: columns[name] for name in names}))

    facts = read(_FACTS, "uuid", "turns", "valid_at", "dimensions")
    for ends in (
        read(_FACT_SOURCES, "uuid", "source", "source_group"),
        read(_FACT_TARGETS, "uuid", "target", "target_group"),
    ):
        # A relationship that is there twice must not double its fact.
        facts = facts.join(ends.unique("uuid", keep="any"), on="uuid", how="left")
    return facts.select(list(columns))


def _read(client: LadybugClient, query: str, group: GroupId, columns: pl.Schema) -> pl.DataFrame:
    frame = pl.from_arrow(client.table(query, {"group_id": group}))
    if not isinstance(frame, pl.DataFrame):
        raise TypeError("a query returned no table")
    # Ladybug's times are in UTC, without a zone.
    zoned = frame.with_columns(
        pl.col(pl.Datetime).dt.cast_time_unit("us").dt.replace_time_zone("UTC")
    )
    return zoned.select(pl.col(name).cast(dtype) for name, dtype in columns.items())
