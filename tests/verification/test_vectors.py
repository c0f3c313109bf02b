"""Vectors are compared with their names and texts, on both stores."""

from collections.abc import Sequence

from tests.builders import GROUP
from tests.graph.committing import opened
from tests.graph.sample_changes import DIMENSIONS, vector
from tests.verification.planted_errors import NOTE
from tests.verification.verifying import fill, plant
from turnetl.base.model import Vector
from turnetl.verification.check import Check
from turnetl.verification.graph_checks import EmbedAgain, vector_checks


async def embed(texts: Sequence[str]) -> Sequence[Vector]:
    return [vector(text) for text in texts]


async def wrong_vectors(url: str, embedder: EmbedAgain | None) -> list[str]:
    async with opened(url) as store:
        [(check, wrong)] = await vector_checks(await store.load(GROUP), embedder)
    assert check is Check.WRONG_VECTORS
    return wrong


async def test_the_vectors_of_a_sound_graph_are_those_of_their_texts(graph_url: str) -> None:
    await fill(graph_url)
    assert await wrong_vectors(graph_url, embed) == []
    assert await wrong_vectors(graph_url, None) == []


async def test_a_vector_of_another_text_is_found(graph_url: str) -> None:
    await fill(graph_url)
    await plant(graph_url, f"MATCH (n:Entity {{uuid: '{NOTE}'}}) SET n.name = 'another name'")
    assert await wrong_vectors(graph_url, embed) == [f"entity {NOTE}"]
    assert await wrong_vectors(graph_url, None) == []


async def test_a_vector_without_a_direction_is_found_without_the_embedder(graph_url: str) -> None:
    await fill(graph_url)
    zero = str([0.0] * DIMENSIONS)
    value = f"CAST({zero} AS FLOAT[])" if graph_url.startswith("ladybug") else zero
    await plant(graph_url, f"MATCH (n:Entity {{uuid: '{NOTE}'}}) SET n.name_embedding = {value}")
    assert await wrong_vectors(graph_url, None) == [f"entity {NOTE}"]
