"""Vectors stay as they were committed, however often the file of a graph is opened and closed."""

from tests.builders import GROUP
from tests.graph.sample_changes import NOW, TTL, change, entity, receipt
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base.graph_model import GroupProfile
from turnetl.base.model import Entity
from turnetl.graph.open import open_graph

COMMITTED_TOGETHER = (
    *("cart", "pytest-q", "No, use requests rather than httpx after all"),
    *("functions", "I prefer short functions"),
)
"""Names whose vectors Ladybug 0.22 loses values of, if it compresses them."""
LATER = ("longer uses",)
PROFILE = GroupProfile(ToyEmbedder.name, ToyEmbedder.dimensions, "recipe-1")


async def named(names: tuple[str, ...]) -> list[Entity]:
    vectors = await ToyEmbedder().embed(names)
    pairs = zip(names, vectors, strict=True)
    return [entity(name, "Concept", embedding=vector) for name, vector in pairs]


async def test_vectors_of_earlier_runs_stay_as_they_were_committed(graph_url: str) -> None:
    expected: dict[str, Entity] = {}
    for number, names in enumerate((COMMITTED_TOGETHER, LATER)):
        store = await open_graph(graph_url, user="", password="")
        await store.prepare()
        lease = await store.acquire(
            GROUP, PROFILE, owner="here:1", now=NOW, ttl=TTL, is_dead=lambda _: False
        )
        entities = await named(names)
        turn = change(f"p{number}", entities)
        await store.commit(lease, turn, receipt(turn), now=NOW, ttl=TTL)
        await store.release(lease)
        await store.close()
        expected |= {one.uuid: one for one in entities}
    store = await open_graph(graph_url, user="", password="", write=False)
    stored = {one.uuid: one for one in (await store.load(GROUP)).entities}
    await store.close()
    assert {uuid: one.embedding for uuid, one in stored.items()} == {
        uuid: one.embedding for uuid, one in expected.items()
    }
