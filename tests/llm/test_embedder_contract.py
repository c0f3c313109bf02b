"""The contract of the Embedder port: every implementation passes the same tests."""

import atexit
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fakes.onnx_models import write_download, write_model
from tests.servers.provider import KEY, FakeProvider, Fault
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base.errors import BadTurn, BadUsage, ModelBusy, ModelUnusable, TurnetlError
from turnetl.llm.embedders import CachedEmbedder, Embedder
from turnetl.llm.embedders.fast_embed import open_fastembed, open_minilm
from turnetl.llm.embedders.openai_compatible import OpenAiEmbedder
from turnetl.llm.embedders.static_model import WordLlamaEmbedder
from turnetl.llm.retry import RetryPolicy
from turnetl.llm.vectors import stack, unpack

TEXTS = ("cart.py uses sqlite.", "sqlite", "The build failed.", "número 日本語 🙂", "a" * 3_000)


def over_http(provider: FakeProvider) -> Embedder:
    url = provider.base_url("openai-compatible")
    return OpenAiEmbedder("m", url, KEY, retry_policy=RetryPolicy(attempts=2, first_wait=0))


def in_a_folder() -> Embedder:
    return open_fastembed(str(_models() / "tiny"), _models())


def downloaded() -> Embedder:
    return open_fastembed("sentence-transformers/all-MiniLM-L6-v2", _models())


@cache
def _models() -> Path:
    """Return a folder with a model, which is a cache with a downloaded one too."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    write_model(folder / "tiny")
    return write_download(folder, "Qdrant/all-MiniLM-L6-v2-onnx", dimensions=384)


@dataclass(frozen=True)
class Implementation:
    name: str
    open: Callable[[FakeProvider], Embedder]
    is_remote: bool = False


IMPLEMENTATIONS = (
    Implementation("wordllama", lambda _: WordLlamaEmbedder()),
    Implementation("openai-compatible", over_http, is_remote=True),
    Implementation("cached wordllama", lambda _: CachedEmbedder(WordLlamaEmbedder())),
    Implementation(
        "cached openai-compatible",
        lambda provider: CachedEmbedder(over_http(provider)),
        is_remote=True,
    ),
    Implementation("fastembed, a folder", lambda _: in_a_folder()),
    Implementation("fastembed, a name", lambda _: downloaded()),
    Implementation("fake", lambda _: ToyEmbedder()),
)
WITH_WEIGHTS = Implementation("minilm", lambda _: open_minilm())
"""Takes 70 ms a text; its packages may be missing."""
REMOTE = [implementation for implementation in IMPLEMENTATIONS if implementation.is_remote]


@pytest.fixture(
    params=[*IMPLEMENTATIONS, pytest.param(WITH_WEIGHTS, marks=pytest.mark.full)],
    ids=lambda implementation: implementation.name,
)
async def embedder(
    request: pytest.FixtureRequest, provider: FakeProvider
) -> AsyncIterator[Embedder]:
    try:
        opened: Embedder = request.param.open(provider)
    except BadUsage as error:
        if request.param is not WITH_WEIGHTS:
            raise
        pytest.skip(str(error))
    yield opened
    await opened.close()


@pytest.fixture(params=REMOTE, ids=lambda implementation: implementation.name)
async def remote(request: pytest.FixtureRequest, provider: FakeProvider) -> AsyncIterator[Embedder]:
    opened: Embedder = request.param.open(provider)
    yield opened
    await opened.close()


async def test_each_text_has_one_vector_of_the_promised_dimensions(embedder: Embedder) -> None:
    vectors = await embedder.embed(TEXTS)
    assert isinstance(vectors, list)
    assert stack(vectors).shape == (len(TEXTS), embedder.dimensions)


async def test_a_vector_is_float32_bytes_of_unit_length(embedder: Embedder) -> None:
    for vector in await embedder.embed(TEXTS):
        assert isinstance(vector, bytes)
        assert len(vector) == 4 * embedder.dimensions
        assert np.isfinite(unpack(vector)).all()
        assert np.linalg.norm(unpack(vector)) == pytest.approx(1, abs=1e-5)


async def test_vectors_are_in_the_order_of_the_texts(embedder: Embedder) -> None:
    forward = await embedder.embed(TEXTS)
    backward = await embedder.embed(TEXTS[::-1])
    assert backward == forward[::-1]
    assert len(set(forward)) == len(TEXTS)


async def test_duplicates_have_equal_vectors(embedder: Embedder) -> None:
    first, other, second = await embedder.embed([TEXTS[0], TEXTS[1], TEXTS[0]])
    assert first == second != other


async def test_no_texts_have_no_vectors(embedder: Embedder) -> None:
    assert await embedder.embed([]) == []
    assert await embedder.embed(()) == []


async def test_a_vector_does_not_depend_on_the_other_texts(embedder: Embedder) -> None:
    [alone] = await embedder.embed([TEXTS[0]])
    together = await embedder.embed([*TEXTS, *(f"text {number}" for number in range(300))])
    assert together[0] == alone


async def test_more_texts_than_a_batch_keep_their_order(embedder: Embedder) -> None:
    texts = [f"text {number}" for number in range(600)]
    vectors = await embedder.embed(texts)
    assert len(vectors) == 600
    for index in (0, 255, 256, 511, 512, 599):
        assert vectors[index] == (await embedder.embed([texts[index]]))[0]


async def test_unusual_texts_have_vectors_too(
    subtests: pytest.Subtests, embedder: Embedder
) -> None:
    for text in ["", " \n\t", "\x00", "\ud83d", "\u200b", "...", "x" * 100_000]:
        with subtests.test(text=text):
            vectors = await embedder.embed(["before", text, "after"])
            assert stack(vectors).shape == (3, embedder.dimensions)
            assert np.linalg.norm(stack(vectors), axis=1) == pytest.approx([1, 1, 1], abs=1e-5)
            assert vectors[0] == (await embedder.embed(["before"]))[0]


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(max_size=40), max_size=6))
async def test_any_texts_have_vectors(embedder: Embedder, texts: Sequence[str]) -> None:
    vectors = await embedder.embed(texts)
    assert [len(vector) for vector in vectors] == [4 * embedder.dimensions] * len(texts)
    assert await embedder.embed(texts) == vectors


async def test_the_name_states_the_model_and_does_not_change(embedder: Embedder) -> None:
    before = embedder.name
    await embedder.embed(TEXTS)
    assert embedder.name == before
    assert "/" in embedder.name


async def test_closing_twice_is_allowed(embedder: Embedder) -> None:
    await embedder.embed(["a"])
    await embedder.close()
    await embedder.close()


async def test_closing_an_unused_embedder_is_allowed(embedder: Embedder) -> None:
    await embedder.close()


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS, ids=lambda one: one.name)
async def test_another_instance_gives_the_same_vectors(
    implementation: Implementation, provider: FakeProvider
) -> None:
    first, second = implementation.open(provider), implementation.open(provider)
    assert await first.embed(TEXTS) == await second.embed(TEXTS)
    assert (first.name, first.dimensions) == (second.name, second.dimensions)
    await first.close()
    await second.close()


ERRORS: list[tuple[Fault, type[TurnetlError]]] = [
    (Fault(503), ModelBusy),
    (Fault(delivery="dropped"), ModelBusy),
    (Fault(body='{"data": []}'), ModelBusy),
    (Fault(401), ModelUnusable),
    (Fault(404), ModelUnusable),
    (Fault(body="<html>"), ModelUnusable),
    (Fault(400, '{"error": {"message": "no such text"}}'), BadTurn),
]


@pytest.mark.parametrize(("fault", "error"), ERRORS)
async def test_a_failure_raises_the_error_of_its_remedy_and_is_not_remembered(
    remote: Embedder, provider: FakeProvider, fault: Fault, error: type[TurnetlError]
) -> None:
    provider.faults = [fault] * 2
    with pytest.raises(error):
        await remote.embed(TEXTS)
    provider.faults = []
    assert len(await remote.embed(TEXTS)) == len(TEXTS)
