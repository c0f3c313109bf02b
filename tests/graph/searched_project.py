"""A small graph to search: a web project over six turns. No two scores of its queries are equal."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from tests.builders import GROUP, START
from tests.graph import sample_changes
from tests.graph.sample_changes import NOW, TTL, receipt
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base import ids
from turnetl.base.graph_model import Community, GroupProfile
from turnetl.base.model import Change, Entity, Fact, GroupId, TurnId, Vector
from turnetl.graph.port import GraphStore
from turnetl.graph.search import SearchedGroup

EMBEDDER = ToyEmbedder()
PROFILE = GroupProfile(EMBEDDER.name, EMBEDDER.dimensions, "recipe-1")
QUERIES = (
    "why does the checkout test fail with a missing price",
    "payment events are delivered twice",
    "move the orders from sqlite to postgres",
    "cart.py",
)

_ENTITIES = {
    "cart.py": ("File", "holds the items of a customer before the checkout"),
    "checkout.py": ("File", "computes the tax of an order"),
    "order total": ("Concept", "rounded to cents, never stored as a float, see the tax rules"),
    "pytest -q": ("Command", ""),
    "KeyError price": ("Error", "raised when an item has no price"),
    "payments.py": ("File", "talks to the provider of payments and stores every payment once"),
    "webhook handler": ("Concept", "gets payment events, some of them twice"),
    "sqlite": ("Tool", "the first database"),
    "postgres": ("Tool", "the database of all orders since the move in spring"),
    "migration script": ("File", "copies orders from sqlite to postgres"),
    "logo.svg": ("File", "the old logo of the start page"),
}
_FACTS = (
    # Turns, source, relation, target, sentence.
    ((0, 1, 3), "cart.py", "CONTAINS", "order total", "cart.py adds up the order total"),
    ((0,), "checkout.py", "USES", "cart.py", "checkout.py reads all of its items out of cart.py"),
    ((0,), "pytest -q", "FAILED_WITH", "KeyError price", "the test failed: a price was missing"),
    ((1,), "KeyError price", "RAISED_IN", "cart.py", "the KeyError was raised in the cart"),
    ((1, 2), "cart.py", "FIXES", "KeyError price", "cart.py skips an item without a price now"),
    ((2,), "payments.py", "CALLED_BY", "checkout.py", "a checkout ends in payments.py"),
    ((3,), "webhook handler", "USES", "payments.py", "payment events go to payments.py"),
    ((3, 4), "webhook handler", "CAUSES", "order total", "events that come twice double it"),
    ((4,), "migration script", "READS", "sqlite", "orders are read from sqlite in one go"),
    ((4,), "migration script", "WRITES", "postgres", "it writes them to postgres and checks"),
    ((5,), "postgres", "REPLACES", "sqlite", "the move to postgres was decided: sqlite locks up"),
    ((5,), "payments.py", "USES", "payments.py", "payments.py calls itself again after a timeout"),
)
_MENTIONS: Sequence[Sequence[str]] = (
    ("cart.py", "checkout.py", "order total", "pytest -q", "KeyError price"),
    ("cart.py", "KeyError price", "order total"),
    ("cart.py", "checkout.py", "payments.py"),
    ("cart.py", "payments.py", "webhook handler", "order total"),
    ("migration script", "sqlite", "postgres", "webhook handler"),
    ("postgres", "sqlite", "payments.py"),
)
_PROMPTS = (
    "Why does the checkout test fail?",
    "Fix the missing price in the cart, please.",
    "Call the provider from the checkout and store the payment.",
    "Customers were charged twice: look at the payment events of the webhook handler!",
    "Write a script that copies all orders from sqlite.",
    "We move to postgres. Also let payments be tried again after a timeout.",
)


async def changes(group: GroupId = GROUP) -> list[Change]:
    """Return the changes of the six turns, in order."""
    entities = {name: await _entity(name, group) for name in _ENTITIES}
    facts = [await _fact(row, entities, group) for row in _FACTS]
    return [_change(number, entities, facts, group) for number in range(len(_PROMPTS))]


async def fill(store: GraphStore, group: GroupId = GROUP) -> SearchedGroup:
    """Commit the turns to a prepared store, and load them."""
    lease = await store.acquire(
        group, PROFILE, owner="host:1", now=NOW, ttl=TTL, is_dead=lambda _: False
    )
    for change in await changes(group):
        await store.commit(lease, change, receipt(change), now=NOW, ttl=TTL)
    return SearchedGroup(await store.load(group), await store.load_subgraphs(group))


def communities(group: GroupId = GROUP) -> list[Community]:
    """Return two communities, as Graphiti would have made them."""
    texts = {
        "payments and what triggers them": "how customers pay",
        "databases of orders": "sqlite first, then postgres",
    }
    return [
        Community(ids.digest(group, name), group, name, summary, _time(number))
        for number, (name, summary) in enumerate(texts.items())
    ]


def turn_id(number: int, group: GroupId = GROUP) -> TurnId:
    return sample_changes.turn_id(f"p{number}", group)


def entity_id(name: str, group: GroupId = GROUP) -> str:
    return ids.entity_id(group, _ENTITIES[name][0], name)


async def embed(text: str) -> Vector:
    (vector,) = await EMBEDDER.embed([text])
    return vector


def _change(number: int, entities: dict[str, Entity], facts: list[Fact], group: GroupId) -> Change:
    earlier = {name for names in _MENTIONS[:number] for name in names}
    # The project's logo is in the graph and no turn mentions it again.
    new = [name for name in _MENTIONS[number] if name not in earlier]
    new += ["logo.svg"] if number == 0 else []
    stated = [fact for fact, row in zip(facts, _FACTS, strict=True) if row[0][0] == number]
    change = sample_changes.change(
        f"p{number}",
        [entities[name] for name in new],
        stated,
        mentions=tuple(sorted(entities[name].uuid for name in _MENTIONS[number])),
        previous_turn=turn_id(number - 1, group) if number else None,
        started_at=_time(number),
        ordinal=number,
        group_id=group,
    )
    return sample_changes.split_into_chunks(change, f"user: {_PROMPTS[number]}")


async def _entity(name: str, group: GroupId) -> Entity:
    label, summary = _ENTITIES[name]
    return Entity(
        uuid=entity_id(name, group),
        group_id=group,
        name=name,
        labels=(label,),
        summary=summary,
        created_at=START + timedelta(seconds=list(_ENTITIES).index(name)),
        embedding=await embed(name),
    )


async def _fact(
    row: tuple[Sequence[int], str, str, str, str], entities: dict[str, Entity], group: GroupId
) -> Fact:
    turns, source, relation, target, text = row
    first = turn_id(turns[0], group)
    return Fact(
        uuid=ids.fact_id(first, source, relation, target, text),
        group_id=group,
        source=entities[source].uuid,
        target=entities[target].uuid,
        relation=relation,
        text=text,
        turns=tuple(turn_id(number, group) for number in turns),
        created_at=_time(turns[0]),
        valid_at=_time(turns[0]),
        embedding=await embed(text),
    )


def _time(number: int) -> datetime:
    return START + timedelta(hours=number)
