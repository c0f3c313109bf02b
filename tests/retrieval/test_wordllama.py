"""The built-in embedder: unit vectors that depend on the text alone."""

from random import Random

import numpy as np
import pytest

from turnetl.llm.embedders import Embedder
from turnetl.llm.embedders.static_model import StaticModel, WordLlamaEmbedder
from turnetl.llm.vectors import stack, unpack

UNUSUAL = ["", " ", "\ud83d", "\x00", "مرحبا", "🎉", "x" * 5000, "`src/app.py` was edited"]


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return WordLlamaEmbedder()


async def test_vectors_have_the_declared_dimensions(embedder: Embedder) -> None:
    (vector,) = await embedder.embed(["the cart"])
    assert len(unpack(vector)) == embedder.dimensions


async def test_vectors_have_length_one_for_any_text(embedder: Embedder) -> None:
    lengths = np.linalg.norm(stack(await embedder.embed(UNUSUAL)), axis=1)
    assert lengths == pytest.approx(np.ones(len(UNUSUAL)), abs=1e-6)


async def test_the_same_text_has_the_same_vector_in_any_batch(embedder: Embedder) -> None:
    alone = [(await embedder.embed([text]))[0] for text in UNUSUAL]
    assert await embedder.embed(UNUSUAL) == alone
    assert await embedder.embed(UNUSUAL * 50) == alone * 50
    assert await WordLlamaEmbedder().embed(UNUSUAL) == alone


async def test_no_texts_have_no_vectors(embedder: Embedder) -> None:
    assert await embedder.embed([]) == []


async def test_texts_with_similar_meaning_are_near(embedder: Embedder) -> None:
    query, near, far = stack(
        await embedder.embed(["why did the tests fail", "pytest ended with an error", "blue sky"])
    )
    assert query @ near > query @ far


def test_the_name_contains_package_model_and_version(embedder: Embedder) -> None:
    package, model, version = embedder.name.split("/")
    assert (package, model) == ("wordllama", "l2_supercat_256")
    assert version[0].isdigit()


def test_few_texts_have_the_tokens_that_many_have() -> None:
    """Of many texts they are found by the library `tokenizers`."""
    model, random = StaticModel.open(), Random(1)
    letters = "ab<s>/>unk▁ \n\t-=.aA0é漢🎉\u0301\ud83d\x00"
    made = ["".join(random.choices(letters, k=random.randint(1, 40))) for _ in range(2000)]
    texts = [*UNUSUAL, *made, "-" * 99, " " * 40, "<s>an</s> option<unk>", "a-long_nameInCode"]
    assert [model.tokenize([text])[0] for text in texts] == model.tokenize([*texts, "x " * 25_000])[
        :-1
    ]
