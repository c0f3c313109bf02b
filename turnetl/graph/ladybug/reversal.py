"""Undo a turn, review it, and repair a group, in Ladybug: in a transaction of the caller.

A pattern goes one hop at a time from a node with a key: in one pattern the second hop scans.
"""

from dataclasses import asdict
from datetime import datetime
from typing import assert_never

from turnetl.base import ids
from turnetl.base.graph_model import Receipt, Reversal, Reverted, Review
from turnetl.base.model import GroupId, TurnId
from turnetl.graph import from_rows, to_rows
from turnetl.graph.group_repair import (
    DoubleMention,
    GroupRepair,
    SessionLinks,
    UnattachedFact,
    UnusedEntity,
)
from turnetl.graph.ladybug import cypher
from turnetl.graph.ladybug import rows as ladybug_rows
from turnetl.graph.ladybug.client import LadybugClient
from turnetl.graph.migrations import MARK_RUNS

_EPISODE_BEFORE, _EPISODE_AFTER = (
    f"""
    MATCH (e:Episodic {{uuid: $uuid}})
    WITH e
    MATCH {neighbour}
    RETURN other.uuid AS found ORDER BY found LIMIT 1
    """
    for neighbour in (
        "(other:Episodic)-[:NEXT_EPISODE]->(e)",
        "(e)-[:NEXT_EPISODE]->(other:Episodic)",
    )
)
_DELETE_EPISODE = "MATCH (e:Episodic {uuid: $uuid}) DETACH DELETE e"
_DELETE_FACT = "MATCH (e:RelatesToNode_ {uuid: $uuid}) DETACH DELETE e"
_DELETE_ENTITY = "MATCH (n:Entity {uuid: $uuid}) DETACH DELETE n"
_COMMUNITIES = """
MATCH (n:Entity {uuid: $uuid}) WITH n MATCH (c:Community)-[:HAS_MEMBER]->(n) RETURN c.uuid
"""
_HAS_MEMBERS = """
MATCH (c:Community {uuid: $uuid}) WITH c MATCH (c)-[:HAS_MEMBER]->() RETURN 1 LIMIT 1
"""
_DELETE_COMMUNITY = "MATCH (c:Community {uuid: $uuid}) DETACH DELETE c"
_USES = tuple(
    f"MATCH (n:Entity {{uuid: $uuid}}) WITH n MATCH {use} RETURN 1 LIMIT 1"
    for use in (
        "(:Episodic)-[:MENTIONS]->(n)",
        "(n)-[:RELATES_TO]->(:RelatesToNode_)",
        "(:RelatesToNode_)-[:RELATES_TO]->(n)",
    )
)
_SAGA_BOUNDARIES = """
MATCH (s:Saga {uuid: $uuid}) RETURN s.first_episode_uuid, s.last_episode_uuid
"""
_SET_SAGA_BOUNDARIES = """
MATCH (s:Saga {uuid: $uuid}) SET s.first_episode_uuid = $first, s.last_episode_uuid = $last
"""
_HAS_EPISODES = """
MATCH (s:Saga {uuid: $uuid}) WITH s MATCH (s)-[:HAS_EPISODE]->(:Episodic) RETURN 1 LIMIT 1
"""
_DELETE_SAGA = "MATCH (s:Saga {uuid: $uuid}) DETACH DELETE s"


def revert(client: LadybugClient, reversal: Reversal, now: datetime) -> Reverted:
    """Undo the turn; as `GraphStore.revert`."""
    receipt = reversal.receipt
    _remove_episodes(client, receipt, now)
    for fact in reversal.facts_removed:
        client.query(_DELETE_FACT, {"uuid": fact})
    kept = [uuid for uuid in reversal.entities_removed if not _delete_unused_entity(client, uuid)]
    for entity in reversal.entities_restored:
        client.query(cypher.SAVE_ENTITY, ladybug_rows.entity_parameters(entity))
    for restored in reversal.facts_restored:
        if not client.query(cypher.UPDATE_FACT, ladybug_rows.changed_fact_parameters(restored)):
            raise to_rows.incomplete_graph(receipt.group_id)
    ladybug_rows.write_summaries(client, reversal.summaries)
    for row in to_rows.saga_summary_rows(receipt.group_id, reversal.saga_texts):
        client.query(cypher.SET_SAGA_SUMMARY, row)
    client.query(cypher.DELETE_TURN_COMMIT, {"turn_id": receipt.turn_id})
    if reversal.ends_run:
        run = {"runs": [receipt.run_id], "now": ladybug_rows.without_zone(now)}
        client.query(MARK_RUNS, run)
    return Reverted(tuple(kept))


def write_review(client: LadybugClient, group: GroupId, review: Review) -> None:
    """Write the review; as `GraphStore.write_review`."""
    first, *_ = review.records
    for record in review.records:
        turn = {"turn_id": record.receipt.turn_id}
        found = client.query(cypher.BEFORE_IMAGES_OF, turn)
        if not found:
            raise to_rows.incomplete_graph(group)
        images = to_rows.reviewed_images(found[0][0], record)
        client.query(cypher.SET_BEFORE_IMAGES, turn | {"images": images})
        receipt = ladybug_rows.receipt_json(record.receipt)
        client.query(cypher.SET_RECEIPT, turn | {"receipt": receipt})
        client.query(cypher.SET_STATED_FACTS, turn | {"facts": to_rows.stated_facts(record)})
    for fact in review.facts:
        if not client.query(cypher.UPDATE_FACT, ladybug_rows.changed_fact_parameters(fact)):
            raise to_rows.incomplete_graph(group)
    if review.facts:
        renumber(client, group, first.receipt.turn_id)


def renumber(client: LadybugClient, group: GroupId, turn: TurnId) -> None:
    """Give the commit of a turn, and all later ones, the next numbers of the group."""
    [(last,)] = client.query(cypher.RENUMBER, {"turn_id": turn, "group_id": group})
    client.query(cypher.SET_SEQUENCE, {"group_id": group, "sequence": str(last)})


def _delete_unused_entity(client: LadybugClient, uuid: str) -> bool:
    """Delete an entity that nothing uses, and emptied communities; return whether it was done."""
    parameters = {"uuid": uuid}
    if any(client.query(query, parameters) for query in _USES):
        return False
    communities = [{"uuid": community} for (community,) in client.query(_COMMUNITIES, parameters)]
    client.query(_DELETE_ENTITY, parameters)
    for community in communities:
        if not client.query(_HAS_MEMBERS, community):
            client.query(_DELETE_COMMUNITY, community)
    return True


def _remove_episodes(client: LadybugClient, receipt: Receipt, now: datetime) -> None:
    """Delete the turn's episodes and close the gap in the session."""
    episodes = from_rows.chunk_ids(receipt)
    before = _neighbour(client, _EPISODE_BEFORE, episodes[0])
    after = _neighbour(client, _EPISODE_AFTER, episodes[-1])
    for episode in episodes:
        client.query(_DELETE_EPISODE, {"uuid": episode})
    if before and after:
        shared = {"group_id": receipt.group_id, "now": ladybug_rows.without_zone(now)}
        client.query(cypher.LINK_NEXT, asdict(to_rows.next_link(before, after)) | shared)
    saga = {"uuid": ids.saga_id(receipt.group_id, receipt.session_id)}
    for first, last in client.query(_SAGA_BOUNDARIES, saga):
        new_first = after if first in episodes else first
        new_last = before if last in episodes else last
        client.query(_SET_SAGA_BOUNDARIES, {**saga, "first": new_first, "last": new_last})
    if not client.query(_HAS_EPISODES, saga):
        client.query(_DELETE_SAGA, saga)


def _neighbour(client: LadybugClient, query: str, episode: str) -> str | None:
    rows = client.query(query, {"uuid": episode})
    return str(rows[0][0]) if rows else None


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
    """Make the repair; as `GraphStore.repair`."""
    match repair:
        case DoubleMention():
            _keep_one_mention(client, repair)
        case SessionLinks():
            _repair_session(client, group, repair, now)
        case UnattachedFact(uuid):
            if not any(client.query(query, {"uuid": uuid}) for query in _FACT_ENDS):
                client.query(_DELETE_FACT, {"uuid": uuid})
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
    shared = {"group_id": group, "now": ladybug_rows.without_zone(now)}
    saga = to_rows.new_saga(session.saga, session.session_id, group, now)
    client.query(cypher.SAVE_SAGA, ladybug_rows.parameters(saga))
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
    if not _delete_unused_entity(client, unused.uuid):
        return
    turn = {"turn_id": unused.turn_id}
    for (images,) in client.query(cypher.BEFORE_IMAGES_OF, turn):
        rewritten = to_rows.without_new_entity(images, unused.uuid)
        client.query(cypher.SET_BEFORE_IMAGES, turn | {"images": rewritten})
