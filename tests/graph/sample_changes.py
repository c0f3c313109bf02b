"""Sample changes for the stores' tests: turns of a small project."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from tests import builders
from tests.builders import GROUP, START, episode
from turnetl.base import ids
from turnetl.base.graph_model import GroupProfile, Receipt
from turnetl.base.model import Change, Entity, Fact, GroupId, SessionId, TurnId, Usage, Vector

DIMENSIONS = 8
PROFILE = GroupProfile("test-embedder 1", DIMENSIONS, "recipe-1")
NOW = datetime.fromisoformat("2026-04-01T12:00:00.123456+00:00")
TTL = timedelta(minutes=2)


def vector(text: str, dimensions: int = DIMENSIONS) -> Vector:
    """Return a unit vector that depends on the text alone."""
    seed = int(ids.digest(text)[:8], 16)
    values = np.random.default_rng(seed).standard_normal(dimensions)
    return Vector((values / np.linalg.norm(values)).astype("<f4").tobytes())


def entity(name: str, label: str = "File", *, group: GroupId = GROUP, **fields: Any) -> Entity:
    default = Entity(
        uuid=ids.entity_id(group, label, name),
        group_id=group,
        name=name,
        labels=(label,),
        summary=f"{name} is a {label.lower()}",
        created_at=START,
        attributes={"path": f"src/{name}", "lines": 120, "share": 0.5, "generated": False},
        embedding=vector(name),
    )
    return replace(default, **fields)


def fact(turn: TurnId, source: Entity, target: Entity, text: str, **fields: Any) -> Fact:
    default = Fact(
        uuid=ids.fact_id(turn, source.uuid, "MODIFIED", target.uuid, text),
        group_id=source.group_id,
        source=source.uuid,
        target=target.uuid,
        relation="MODIFIED",
        text=text,
        turns=(turn,),
        created_at=START,
        valid_at=START,
        reference_time=START,
        attributes={"tool": "Edit", "times": 3},
        embedding=vector(text),
    )
    return replace(default, **fields)


def change(
    native: str,
    entities: Sequence[Entity] = (),
    facts: Sequence[Fact] = (),
    **fields: Any,
) -> Change:
    """Return the change of the turn `native`; all entities and facts are new by default.

    `fields` replace fields of the change, or fields of the turn: `session_id`, `started_at`,
    `group_id`, `ordinal`.
    """
    turn_fields = {"session_id", "started_at", "group_id", "ordinal"}
    changed = episode(native, **{name: fields.pop(name) for name in turn_fields & fields.keys()})
    mentions = tuple(sorted(entity.uuid for entity in entities))
    usage = Usage(3, 1200, 300, 0.0125, cached_tokens=800, seconds=2.5)
    default = builders.change(changed, entities, facts, mentions=mentions, usage=usage)
    return replace(default, **fields)


def split_into_chunks(change: Change, *chunks: str, **fields: Any) -> Change:
    """Return the change with its turn split into these chunks."""
    long = replace(
        change.episode, text="\n\n".join(chunks), chunks=chunks, text_hash=ids.digest(*chunks)
    )
    return replace(change, episode=long, **fields)


def long_history() -> list[Change]:
    """Return the changes of `history`, the second in three chunks and the third in two."""
    first, second, third = history()
    (failed,) = second.facts
    chunks = [f"user: chunk {word}" for word in ("alpha", "beta", "gamma")]
    mentioned_in = {failed.source: (1, 2), failed.target: (0,)}
    return [
        first,
        split_into_chunks(second, *chunks, mentioned_in=mentioned_in),
        split_into_chunks(third, "user: Undo it.", "assistant: It is undone.", previous_chunks=3),
    ]


def turn_id(native: str, group: GroupId = GROUP) -> TurnId:
    return ids.turn_id(group, "claude_code", native)


def receipt(change: Change, **fields: Any) -> Receipt:
    defaults = {
        "recipe": PROFILE.recipe,
        "committed_at": NOW,
        "usage": change.usage,
        "entities_new": len(change.entities) - len(change.entities_before),
        "facts_new": len(change.facts) - len(change.facts_before),
    }
    return builders.receipt(change.episode, **(defaults | fields))


def history(group: GroupId = GROUP) -> list[Change]:
    """Return three turns of one session: they create, change and invalidate."""
    turns = [turn_id(native, group) for native in ("p0", "p1", "p2")]
    cart, total = entity("cart.py", group=group), entity("total", "Concept", group=group)
    edited = fact(turns[0], cart, total, "cart.py was edited to round the total")
    tests = entity("pytest -q", "Command", group=group, attributes={}, summary="")
    cart_later = replace(cart, summary="cart.py rounds the total, with tests", labels=("Module",))
    failed = fact(turns[1], tests, cart_later, "pytest -q failed in cart.py", valid_at=None)
    invalidated = replace(
        edited, invalid_at=START + timedelta(hours=2), expired_at=NOW, turns=(turns[0], turns[2])
    )
    undone = fact(turns[2], cart_later, total, "cart.py no longer rounds the total")
    shared = {"group_id": group, "session_id": SessionId("s1")}
    return [
        change("p0", [cart, total], [edited], **shared),
        change(
            "p1",
            [tests, cart_later],
            [failed],
            entities_before=(cart,),
            previous_turn=turns[0],
            started_at=START + timedelta(hours=1),
            ordinal=1,
            **shared,
        ),
        change(
            "p2",
            [],
            [undone, invalidated],
            mentions=tuple(sorted([cart.uuid, total.uuid])),
            facts_before=(edited,),
            previous_turn=turns[1],
            started_at=START + timedelta(hours=2),
            ordinal=2,
            **shared,
        ),
    ]


def late_turn() -> Change:
    """Return a turn between the first and the second of the history, committed after them."""
    return change(
        "late",
        [entity("late.py")],
        previous_turn=turn_id("p0"),
        next_turn=turn_id("p1"),
        started_at=START + timedelta(minutes=30),
    )
