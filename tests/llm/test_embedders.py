"""The embedder over HTTP and the cache; see also test_embedder_contract."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.servers.provider import KEY, FakeProvider, Fault
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base.errors import BadTurn, BadUsage, ModelBusy, ModelUnusable
from turnetl.base.model import Usage, Vector
from turnetl.llm.embedders import CachedEmbedder, floats, open_embedder
from turnetl.llm.embedders.openai_compatible import OpenAiEmbedder
from turnetl.llm.embedders.static_model import WordLlamaEmbedder
from turnetl.llm.http import Timeouts
from turnetl.llm.meter import Meter
from turnetl.llm.prices import Price, Prices
from turnetl.llm.retry import RetryPolicy
from turnetl.llm.vectors import stack


async def no_sleep(seconds: float) -> None:
    assert seconds >= 0


def vectors(*rows: Sequence[float] | None, order: Sequence[int] | None = None) -> Fault:
    positions = order or range(len(rows))
    data = [{"index": index, "embedding": rows[index]} for index in positions]
    return Fault(200, json.dumps({"object": "list", "data": data, "usage": {"prompt_tokens": 3}}))


def open_embedder_at(provider: FakeProvider, **options: Any) -> OpenAiEmbedder:
    url = provider.base_url("openai-compatible")
    arguments: dict[str, Any] = {
        "retry_policy": RetryPolicy(attempts=3),
        "sleep": no_sleep,
    } | options
    return OpenAiEmbedder(arguments.pop("model", "m"), url, KEY, **arguments)


async def test_vectors_are_sorted_by_index_and_normalized(
    provider: FakeProvider,
) -> None:
    provider.faults = [vectors([3, 4], [0, 2], order=[1, 0])]
    embedder = open_embedder_at(provider)
    vectors_found = [floats(vector) for vector in await embedder.embed(["a", "b"])]
    await embedder.close()
    assert vectors_found == [pytest.approx([0.6, 0.8]), pytest.approx([0.0, 1.0])]
    received = provider.requests[0]
    assert received.path == "/v1/embeddings"
    assert received.body == {"model": "m", "input": ["a", "b"], "encoding_format": "float"}
    assert KEY in received.headers["Authorization"]


async def test_many_texts_are_sent_in_batches(provider: FakeProvider) -> None:
    provider.faults = [vectors(*[[1.0, index] for index in range(256)]), vectors([0.0, 1.0])]
    embedder = open_embedder_at(provider)
    vectors_found = stack(await embedder.embed([str(index) for index in range(257)]))
    await embedder.close()
    assert vectors_found.shape == (257, 2)
    assert vectors_found[256].tolist() == [0.0, 1.0]
    assert [len(received.body["input"]) for received in provider.requests] == [256, 1]


async def test_no_texts_send_no_request(provider: FakeProvider) -> None:
    embedder = open_embedder_at(provider)
    assert await embedder.embed([]) == []
    await embedder.close()
    assert provider.requests == []


async def test_texts_that_providers_reject_are_replaced(provider: FakeProvider) -> None:
    provider.faults = [vectors([1, 0], [1, 0], [1, 0], [1, 0])]
    embedder = open_embedder_at(provider)
    await embedder.embed(["", " \n", "x" * 9_000, "\ud83d"])
    await embedder.close()
    assert provider.requests[0].body["input"] == ["-", "-", "x" * 8_000, "?"]


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_busy_server_is_retried(provider: FakeProvider, status: int) -> None:
    provider.faults = [Fault(status), Fault(status), vectors([1, 0])]
    embedder = open_embedder_at(provider)
    assert len(await embedder.embed(["a"])) == 1
    await embedder.close()
    assert len(provider.requests) == 3


async def test_the_number_of_attempts_is_limited(provider: FakeProvider) -> None:
    provider.faults = [Fault(503)] * 3
    embedder = open_embedder_at(provider)
    with pytest.raises(ModelBusy, match="embedder `openai-compatible/m`"):
        await embedder.embed(["a"])
    await embedder.close()
    assert len(provider.requests) == 3


@pytest.mark.full
async def test_a_hanging_server_gets_three_timeouts(provider: FakeProvider) -> None:
    provider.faults = [Fault(delivery="hangs")] * 7
    embedder = open_embedder_at(
        provider, timeouts=Timeouts(total=0.4), retry_policy=RetryPolicy(attempts=7)
    )
    with pytest.raises(ModelBusy, match="3 attempts failed"):
        await embedder.embed(["a"])
    await embedder.close()
    assert len(provider.requests) == 3


async def test_a_requested_wait_above_the_maximum_ends_the_call(provider: FakeProvider) -> None:
    provider.faults = [Fault(429, headers={"Retry-After": "3600"})]
    embedder = open_embedder_at(provider)
    with pytest.raises(ModelBusy):
        await embedder.embed(["a"])
    await embedder.close()
    assert len(provider.requests) == 1


async def test_a_wrong_key_is_not_retried_and_names_its_setting(provider: FakeProvider) -> None:
    provider.faults = [Fault(401)]
    embedder = open_embedder_at(provider)
    with pytest.raises(ModelUnusable, match="TURNETL_EMBEDDER__API_KEY"):
        await embedder.embed(["a"])
    await embedder.close()
    assert len(provider.requests) == 1


async def test_a_rejected_text_is_a_bad_turn(provider: FakeProvider) -> None:
    provider.faults = [Fault(400, '{"error": {"message": "no such text"}}')]
    embedder = open_embedder_at(provider)
    with pytest.raises(BadTurn, match="no such text"):
        await embedder.embed(["a"])
    await embedder.close()


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (vectors([1, 0]), "1 vectors for 2 texts"),
        (Fault(200, '{"data": []}'), "0 vectors for 2 texts"),
        (vectors([1, 0], [0, 0]), "of length zero or infinity"),
    ],
)
async def test_an_invalid_response_is_retried(
    provider: FakeProvider, fault: Fault, expected: str
) -> None:
    provider.faults = [fault, vectors([1, 0], [0, 1])]
    embedder = open_embedder_at(provider)
    assert len(await embedder.embed(["a", "b"])) == 2
    provider.faults = [fault] * 3
    with pytest.raises(ModelBusy, match=expected):
        await embedder.embed(["a", "b"])
    await embedder.close()


@pytest.mark.parametrize("fault", [vectors([1, 0], [1]), vectors([1], None)])
async def test_a_response_without_vectors_names_the_settings_to_check(
    provider: FakeProvider, fault: Fault
) -> None:
    provider.faults = [fault]
    embedder = open_embedder_at(provider)
    with pytest.raises(ModelUnusable, match="TURNETL_EMBEDDER__MODEL"):
        await embedder.embed(["a", "b"])
    await embedder.close()


async def test_unexpected_dimensions_are_rejected_with_the_value_to_set(
    provider: FakeProvider,
) -> None:
    provider.faults = [vectors([1, 0, 0])]
    embedder = open_embedder_at(provider, dimensions=2)
    with pytest.raises(ModelUnusable, match="set TURNETL_EMBEDDER__DIMENSIONS to 3"):
        await embedder.embed(["a"])
    await embedder.close()


async def test_dimensions_are_sent_only_to_models_that_support_them(provider: FakeProvider) -> None:
    provider.faults = [vectors([1, 0]), vectors([1, 0])]
    for model in ("text-embedding-3-small", "bge-m3"):
        embedder = open_embedder_at(provider, model=model, dimensions=2)
        await embedder.embed(["a"])
        await embedder.close()
    assert [received.body.get("dimensions") for received in provider.requests] == [2, None]


async def test_dimensions_are_learned_from_the_model_once(provider: FakeProvider) -> None:
    provider.faults = [vectors([1, 0, 0])]
    embedder = open_embedder_at(provider)
    assert (embedder.dimensions, embedder.dimensions) == (3, 3)
    await embedder.close()
    assert len(provider.requests) == 1


async def test_requests_are_counted_apart_from_the_budget(
    provider: FakeProvider,
) -> None:
    prices = Prices(({"openai-compatible/m": Price(1e6, 1e6, 0)},))
    meter = Meter(prices)
    silent = Fault(200, '{"data": [{"index": 0, "embedding": [1, 0]}]}')
    provider.faults = [Fault(503), vectors([1, 0]), silent]
    embedder = open_embedder_at(provider, meter=meter)
    await embedder.embed(["a"])
    await embedder.embed(["some words"])
    await embedder.close()
    usage = meter.by_prompt()["embeddings"]
    assert (usage.calls, usage.prompt_tokens) == (3, 3 + 4)
    assert usage.cost == 7
    assert usage.seconds > 0
    assert meter.total == Usage()


async def test_without_a_price_the_cost_of_embeddings_is_unknown(provider: FakeProvider) -> None:
    meter = Meter(Prices())
    provider.faults = [vectors([1, 0])]
    embedder = open_embedder_at(provider, meter=meter)
    await embedder.embed(["a"])
    await embedder.close()
    assert meter.by_prompt()["embeddings"].cost is None


async def test_concurrent_groups_learn_the_dimensions_from_one_request(
    provider: FakeProvider,
) -> None:
    provider.faults = [Fault(503), vectors([1, 0, 0])]
    embedder = open_embedder_at(provider)
    received = [asyncio.to_thread(lambda: embedder.dimensions) for _ in range(4)]
    assert await asyncio.gather(*received) == [3, 3, 3, 3]
    await embedder.close()
    assert len(provider.requests) == 2


async def test_known_dimensions_are_not_requested(provider: FakeProvider) -> None:
    configured = open_embedder_at(provider, dimensions=512)
    assert configured.dimensions == 512
    provider.faults = [vectors([1, 0])]
    learned = open_embedder_at(provider)
    await learned.embed(["a"])
    assert learned.dimensions == 2
    await configured.close()
    await learned.close()
    assert len(provider.requests) == 1


async def test_embedders_are_opened_by_name() -> None:
    assert isinstance(open_embedder("local"), WordLlamaEmbedder)
    opened = open_embedder("openai-compatible", model="text-embedding-3-small", api_key="k")
    assert opened.name == "openai-compatible/text-embedding-3-small"
    await opened.close()
    with pytest.raises(BadUsage, match="TURNETL_EMBEDDER__MODEL"):
        open_embedder("openai-compatible")
    with pytest.raises(BadUsage, match="known are local, minilm, fastembed, openai-compatible"):
        open_embedder("acme")


class GatedEmbedder(ToyEmbedder):
    """Responds or fails when its gate opens."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.received = asyncio.Event()
        self.calls: list[list[str]] = []
        self.error: Exception | None = None

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.calls.append(list(texts))
        self.received.set()
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        return await super().embed(texts)


async def test_a_text_is_embedded_once() -> None:
    inner = ToyEmbedder()
    embedder = CachedEmbedder(inner)
    first = await embedder.embed(["a", "b", "a"])
    assert first == await inner.embed(["a", "b", "a"])
    inner.embedded.clear()
    assert await embedder.embed(["b", "c", "a"]) == [
        first[1],
        (await inner.embed(["c"]))[0],
        first[0],
    ]
    assert inner.embedded == ["c", "c"]
    await embedder.close()


async def test_concurrent_texts_are_sent_in_one_request() -> None:
    inner = GatedEmbedder()
    inner.gate.set()
    embedder = CachedEmbedder(inner)
    await asyncio.gather(
        embedder.embed(["a", "b"]), embedder.embed(["b", "c"]), embedder.embed(["a"])
    )
    assert inner.calls == [["a", "b", "c"]]
    await embedder.close()


async def test_a_text_in_flight_is_not_sent_again() -> None:
    inner = GatedEmbedder()
    embedder = CachedEmbedder(inner)
    first = asyncio.create_task(embedder.embed(["a"]))
    await inner.received.wait()
    second = asyncio.create_task(embedder.embed(["a"]))
    await asyncio.sleep(0)
    inner.gate.set()
    assert await first == await second
    assert inner.calls == [["a"]]
    await embedder.close()


async def test_large_batches_are_split() -> None:
    inner = GatedEmbedder()
    inner.gate.set()
    embedder = CachedEmbedder(inner)
    await embedder.embed([str(index) for index in range(600)])
    assert [len(call) for call in inner.calls] == [256, 256, 88]
    await embedder.close()


async def test_the_cache_is_bounded_and_keeps_the_most_recently_used_texts() -> None:
    inner = ToyEmbedder()
    embedder = CachedEmbedder(inner, size=2)
    for text in ("a", "b", "a", "c"):
        await embedder.embed([text])
    inner.embedded.clear()
    await embedder.embed(["a", "c"])
    await embedder.embed(["b"])
    assert inner.embedded == ["b"]
    await embedder.close()


async def test_a_failure_reaches_all_callers_and_is_not_cached() -> None:
    inner = GatedEmbedder()
    inner.error = ModelBusy("busy")
    inner.gate.set()
    embedder = CachedEmbedder(inner)
    failed = await asyncio.gather(
        embedder.embed(["a", "b"]), embedder.embed(["a"]), return_exceptions=True
    )
    assert [type(result) for result in failed] == [ModelBusy, ModelBusy]
    inner.error = None
    assert len(await embedder.embed(["a"])) == 1
    await embedder.close()


class IncompleteEmbedder(ToyEmbedder):
    """Omits the last vector."""

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return (await super().embed(texts))[:-1]


async def test_a_missing_vector_blocks_no_caller() -> None:
    embedder = CachedEmbedder(IncompleteEmbedder())
    for _ in range(2):
        with pytest.raises(ValueError, match="shorter"):
            await asyncio.wait_for(embedder.embed(["a", "b"]), 5)
    await embedder.close()


async def test_a_cancelled_caller_does_not_affect_the_others() -> None:
    inner = GatedEmbedder()
    embedder = CachedEmbedder(inner)
    cancelled_caller = asyncio.create_task(embedder.embed(["a"]))
    other_caller = asyncio.create_task(embedder.embed(["a"]))
    await inner.received.wait()
    cancelled_caller.cancel()
    await asyncio.sleep(0)
    inner.gate.set()
    assert len(await other_caller) == 1
    assert cancelled_caller.cancelled()
    await embedder.close()


async def test_closing_cancels_open_requests() -> None:
    inner = GatedEmbedder()
    embedder = CachedEmbedder(inner)
    waiting = asyncio.create_task(embedder.embed(["a"]))
    await inner.received.wait()
    await embedder.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_a_cached_embedder_has_the_name_and_dimensions_of_its_embedder() -> None:
    inner = ToyEmbedder()
    embedder = CachedEmbedder(inner)
    assert (embedder.name, embedder.dimensions) == (inner.name, inner.dimensions)
    assert np.allclose(stack(await embedder.embed(["a"])), stack(await inner.embed(["a"])))
    await embedder.close()
