"""Changes for the stores' tests: turns of a small project, with what they do to their group."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from tests import builders
from tests.builders import GROUP, START, episode
from turnetl import ids
from turnetl.model import (
    Change,
    Entity,
    Fact,
    GroupId,
    GroupProfile,
    Receipt,
    SessionId,
    TurnId,
    Usage,
    Vector,
)

DIMENSIONS = 8
PROFILE = GroupProfile("test-embedder 1", DIMENSIONS, "recipe-1")
NOW = datetime.fromisoformat("2026-04-01T12:00:00.123456+00:00")
TTL = timedelta(minutes=2)


def vector(text: str, dimensions: int = DIMENSIONS) -> Vector:
    """A unit vector that hangs on the text alone."""
    seed = int(ids.digest(text)[:8], 16)
    values = np.random.default_rng(seed).standard_normal(dimensions)
    return Vector((values / np.linalg.norm(values)).astype("<f4").tobytes())


def entity(name: str, label: str = "File", *, group: GroupId = GROUP, **fields: Any) -> Entity:
    whole = Entity(
        uuid=ids.entity_id(group, label, name),
        group_id=group,
        name=name,
        labels=(label,),
        summary=f"{name} is a {label.lower()}",
        created_at=START,
        attributes={"path": f"src/{name}", "lines": 120, "share": 0.5, "generated": False},
        embedding=vector(name),
    )
    return replace(whole, **fields)


def fact(turn: TurnId, source: Entity, target: Entity, text: str, **fields: Any) -> Fact:
    whole = Fact(
        uuid=ids.fact_id(turn, source.uuid, "MODIFIED", target.uuid, text),
        group_id=source.group_id,
        source=source.uuid,
        target=target.uuid,
        name="MODIFIED",
        text=text,
        turns=(turn,),
        created_at=START,
        valid_at=START,
        reference_time=START,
        attributes={"tool": "Edit", "times": 3},
        embedding=vector(text),
    )
    return replace(whole, **fields)


def change(
    native: str,
    entities: Sequence[Entity] = (),
    facts: Sequence[Fact] = (),
    **fields: Any,
) -> Change:
    """What the turn `native` does: all entities and facts are new unless `fields` say otherwise.

    Fields of the turn may be given too: `session_id`, `started_at`, `group_id`.
    """
    of_turn = {"session_id", "started_at", "group_id", "ordinal"}
    of = episode(native, **{name: fields.pop(name) for name in of_turn & fields.keys()})
    mentions = tuple(sorted(one.uuid for one in entities))
    usage = Usage(3, 1200, 300, 0.0125, cached_tokens=800, seconds=2.5)
    whole = builders.change(of, entities, facts, mentions=mentions, usage=usage)
    return replace(whole, **fields)


def split_into_parts(of: Change, *parts: str, **fields: Any) -> Change:
    """The change of a turn so long that it comes in these parts."""
    long = replace(of.episode, text="\n\n".join(parts), parts=parts, text_hash=ids.digest(*parts))
    return replace(of, episode=long, **fields)


def long_history() -> list[Change]:
    """The turns of `history`; the one in the middle is of three parts, the last one of two."""
    first, second, third = history()
    (failed,) = second.facts
    parts = [f"user: part {word}" for word in ("alpha", "beta", "gamma")]
    said_in = {failed.source: (1, 2), failed.target: (0,)}
    return [
        first,
        split_into_parts(second, *parts, mentioned_in=said_in),
        split_into_parts(third, "user: Undo it.", "assistant: It is undone.", previous_parts=3),
    ]


def turn_id(native: str, group: GroupId = GROUP) -> TurnId:
    return ids.turn_id(group, "claude_code", native)


def receipt(of: Change, **fields: Any) -> Receipt:
    counted = {
        "recipe": PROFILE.recipe,
        "committed_at": NOW,
        "usage": of.usage,
        "entities_new": len(of.entities) - len(of.entities_before),
        "facts_new": len(of.facts) - len(of.facts_before),
    }
    return builders.receipt(of.episode, **(counted | fields))


def history(group: GroupId = GROUP) -> list[Change]:
    """Three turns of one session: things appear, one is changed, a fact is retired."""
    ids_ = [turn_id(native, group) for native in ("p0", "p1", "p2")]
    cart, total = entity("cart.py", group=group), entity("total", "Concept", group=group)
    edited = fact(ids_[0], cart, total, "cart.py was edited to round the total")
    tests = entity("pytest -q", "Command", group=group, attributes={}, summary="")
    cart_later = replace(cart, summary="cart.py rounds the total, with tests", labels=("Module",))
    failed = fact(ids_[1], tests, cart_later, "pytest -q failed in cart.py", valid_at=None)
    retired = replace(
        edited, invalid_at=START + timedelta(hours=2), expired_at=NOW, turns=(ids_[0], ids_[2])
    )
    undone = fact(ids_[2], cart_later, total, "cart.py no longer rounds the total")
    shared = {"group_id": group, "session_id": SessionId("s1")}
    return [
        change("p0", [cart, total], [edited], **shared),
        change(
            "p1",
            [tests, cart_later],
            [failed],
            entities_before=(cart,),
            previous_turn=ids_[0],
            started_at=START + timedelta(hours=1),
            ordinal=1,
            **shared,
        ),
        change(
            "p2",
            [],
            [undone, retired],
            mentions=tuple(sorted([cart.uuid, total.uuid])),
            facts_before=(edited,),
            previous_turn=ids_[1],
            started_at=START + timedelta(hours=2),
            ordinal=2,
            **shared,
        ),
    ]
