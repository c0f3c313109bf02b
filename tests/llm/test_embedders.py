"""Embeddings over HTTP, and what remembers them."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.servers.provider import KEY, FakeProvider, Fault
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.errors import BadTurn, BadUsage, ModelBusy, ModelRefused
from turnetl.llm.embedders import CachedEmbedder, WordLlamaEmbedder, open_embedder
from turnetl.llm.embedders.openai_compatible import OpenAiEmbedder
from turnetl.llm.meter import Meter
from turnetl.llm.prices import Price, Prices
from turnetl.llm.retry import RetryPolicy
from turnetl.llm.transport.http import Timeouts
from turnetl.llm.vectors import floats, stack
from turnetl.model import Usage, Vector


async def no_sleep(seconds: float) -> None:
    assert seconds >= 0


def vectors(*rows: Sequence[float] | None, order: Sequence[int] | None = None) -> Fault:
    places = order or range(len(rows))
    data = [{"index": at, "embedding": rows[at]} for at in places]
    return Fault(200, json.dumps({"object": "list", "data": data, "usage": {"prompt_tokens": 3}}))


def embedder(provider: FakeProvider, **how: Any) -> OpenAiEmbedder:
    url = provider.base_url("openai-compatible")
    given: dict[str, Any] = {"retry_policy": RetryPolicy(attempts=3), "sleep": no_sleep} | how
    return OpenAiEmbedder(given.pop("model", "m"), url, KEY, **given)


async def test_vectors_are_sorted_by_index_and_normalized(
    provider: FakeProvider,
) -> None:
    provider.faults = [vectors([3, 4], [0, 2], order=[1, 0])]
    used = embedder(provider)
    found = [floats(vector) for vector in await used.embed(["a", "b"])]
    await used.close()
    assert found == [pytest.approx([0.6, 0.8]), pytest.approx([0.0, 1.0])]
    asked = provider.requests[0]
    assert asked.path == "/v1/embeddings"
    assert asked.body == {"model": "m", "input": ["a", "b"], "encoding_format": "float"}
    assert KEY in asked.headers["Authorization"]


async def test_many_texts_are_sent_in_batches(provider: FakeProvider) -> None:
    provider.faults = [vectors(*[[1.0, at] for at in range(256)]), vectors([0.0, 1.0])]
    used = embedder(provider)
    found = stack(await used.embed([str(at) for at in range(257)]))
    await used.close()
    assert found.shape == (257, 2)
    assert found[256].tolist() == [0.0, 1.0]
    assert [len(asked.body["input"]) for asked in provider.requests] == [256, 1]


async def test_no_texts_send_no_request(provider: FakeProvider) -> None:
    used = embedder(provider)
    assert await used.embed([]) == []
    await used.close()
    assert provider.requests == []


async def test_texts_that_providers_reject_are_replaced(provider: FakeProvider) -> None:
    provider.faults = [vectors([1, 0], [1, 0], [1, 0], [1, 0])]
    used = embedder(provider)
    await used.embed(["", " \n", "x" * 9_000, "\ud83d"])
    await used.close()
    assert provider.requests[0].body["input"] == ["-", "-", "x" * 8_000, "?"]


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_busy_server_is_retried(provider: FakeProvider, status: int) -> None:
    provider.faults = [Fault(status), Fault(status), vectors([1, 0])]
    used = embedder(provider)
    assert len(await used.embed(["a"])) == 1
    await used.close()
    assert len(provider.requests) == 3


async def test_the_number_of_attempts_is_limited(provider: FakeProvider) -> None:
    provider.faults = [Fault(503)] * 3
    used = embedder(provider)
    with pytest.raises(ModelBusy, match="embedder `openai-compatible/m`"):
        await used.embed(["a"])
    await used.close()
    assert len(provider.requests) == 3


async def test_a_hanging_server_gets_three_timeouts(provider: FakeProvider) -> None:
    provider.faults = [Fault(delivery="hangs")] * 7
    used = embedder(provider, timeouts=Timeouts(total=0.4), retry_policy=RetryPolicy(attempts=7))
    with pytest.raises(ModelBusy, match="3 attempts failed"):
        await used.embed(["a"])
    await used.close()
    assert len(provider.requests) == 3


async def test_a_requested_wait_above_the_maximum_ends_the_call(provider: FakeProvider) -> None:
    provider.faults = [Fault(429, headers={"Retry-After": "3600"})]
    used = embedder(provider)
    with pytest.raises(ModelBusy):
        await used.embed(["a"])
    await used.close()
    assert len(provider.requests) == 1


async def test_a_wrong_key_is_not_retried_and_names_its_setting(provider: FakeProvider) -> None:
    provider.faults = [Fault(401)]
    used = embedder(provider)
    with pytest.raises(ModelRefused, match="TURNETL_EMBEDDER__API_KEY"):
        await used.embed(["a"])
    await used.close()
    assert len(provider.requests) == 1


async def test_a_rejected_text_is_a_bad_turn(provider: FakeProvider) -> None:
    provider.faults = [Fault(400, '{"error": {"message": "no such text"}}')]
    used = embedder(provider)
    with pytest.raises(BadTurn, match="no such text"):
        await used.embed(["a"])
    await used.close()


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (vectors([1, 0]), "1 vectors for 2 texts"),
        (Fault(200, '{"data": []}'), "0 vectors for 2 texts"),
        (vectors([1, 0], [0, 0]), "of length zero or infinity"),
    ],
)
async def test_an_invalid_response_is_retried(
    provider: FakeProvider, answer: Fault, says: str
) -> None:
    provider.faults = [answer, vectors([1, 0], [0, 1])]
    used = embedder(provider)
    assert len(await used.embed(["a", "b"])) == 2
    provider.faults = [answer] * 3
    with pytest.raises(ModelBusy, match=says):
        await used.embed(["a", "b"])
    await used.close()


@pytest.mark.parametrize("answer", [vectors([1, 0], [1]), vectors([1], None)])
async def test_a_response_without_vectors_names_the_settings_to_check(
    provider: FakeProvider, answer: Fault
) -> None:
    provider.faults = [answer]
    used = embedder(provider)
    with pytest.raises(ModelRefused, match="TURNETL_EMBEDDER__MODEL"):
        await used.embed(["a", "b"])
    await used.close()


async def test_unexpected_dimensions_are_refused_with_the_value_to_set(
    provider: FakeProvider,
) -> None:
    provider.faults = [vectors([1, 0, 0])]
    used = embedder(provider, dimensions=2)
    with pytest.raises(ModelRefused, match="set TURNETL_EMBEDDER__DIMENSIONS to 3"):
        await used.embed(["a"])
    await used.close()


async def test_dimensions_are_sent_only_to_models_that_support_them(provider: FakeProvider) -> None:
    provider.faults = [vectors([1, 0]), vectors([1, 0])]
    for model in ("text-embedding-3-small", "bge-m3"):
        used = embedder(provider, model=model, dimensions=2)
        await used.embed(["a"])
        await used.close()
    assert [asked.body.get("dimensions") for asked in provider.requests] == [2, None]


async def test_dimensions_are_learned_from_the_model_once(provider: FakeProvider) -> None:
    provider.faults = [vectors([1, 0, 0])]
    used = embedder(provider)
    assert (used.dimensions, used.dimensions) == (3, 3)
    await used.close()
    assert len(provider.requests) == 1


async def test_requests_are_counted_apart_from_the_budget(
    provider: FakeProvider,
) -> None:
    priced = Prices(({"openai-compatible/m": Price(1e6, 1e6, 0)},))
    meter = Meter(priced)
    silent = Fault(200, '{"data": [{"index": 0, "embedding": [1, 0]}]}')
    provider.faults = [Fault(503), vectors([1, 0]), silent]
    used = embedder(provider, meter=meter)
    await used.embed(["a"])
    await used.embed(["some words"])
    await used.close()
    counted = meter.by_prompt()["embeddings"]
    assert (counted.calls, counted.prompt_tokens) == (3, 3 + 4)
    assert counted.cost == 7
    assert counted.seconds > 0
    assert meter.total == Usage()


async def test_without_a_price_the_cost_of_embeddings_is_unknown(provider: FakeProvider) -> None:
    meter = Meter(Prices())
    provider.faults = [vectors([1, 0])]
    used = embedder(provider, meter=meter)
    await used.embed(["a"])
    await used.close()
    assert meter.by_prompt()["embeddings"].cost is None


async def test_concurrent_groups_learn_the_dimensions_from_one_request(
    provider: FakeProvider,
) -> None:
    provider.faults = [Fault(503), vectors([1, 0, 0])]
    used = embedder(provider)
    asked = [asyncio.to_thread(lambda: used.dimensions) for _ in range(4)]
    assert await asyncio.gather(*asked) == [3, 3, 3, 3]
    await used.close()
    assert len(provider.requests) == 2


async def test_known_dimensions_are_not_requested(provider: FakeProvider) -> None:
    said = embedder(provider, dimensions=512)
    assert said.dimensions == 512
    provider.faults = [vectors([1, 0])]
    seen = embedder(provider)
    await seen.embed(["a"])
    assert seen.dimensions == 2
    await said.close()
    await seen.close()
    assert len(provider.requests) == 1


async def test_embedders_are_opened_by_name() -> None:
    assert isinstance(open_embedder("local"), WordLlamaEmbedder)
    opened = open_embedder("openai-compatible", model="text-embedding-3-small", api_key="k")
    assert opened.name == "openai-compatible/text-embedding-3-small"
    await opened.close()
    with pytest.raises(BadUsage, match="TURNETL_EMBEDDER__MODEL"):
        open_embedder("openai-compatible")
    with pytest.raises(BadUsage, match="known are local, openai-compatible"):
        open_embedder("acme")


class Slow(ToyEmbedder):
    """Answers when it is told to, or fails."""

    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()
        self.asked = asyncio.Event()
        self.calls: list[list[str]] = []
        self.error: Exception | None = None

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.calls.append(list(texts))
        self.asked.set()
        await self.go.wait()
        if self.error is not None:
            raise self.error
        return await super().embed(texts)


async def test_a_text_is_embedded_once() -> None:
    inner = ToyEmbedder()
    used = CachedEmbedder(inner)
    first = await used.embed(["a", "b", "a"])
    assert first == await inner.embed(["a", "b", "a"])
    inner.embedded.clear()
    assert await used.embed(["b", "c", "a"]) == [first[1], (await inner.embed(["c"]))[0], first[0]]
    assert inner.embedded == ["c", "c"]
    await used.close()


async def test_concurrent_texts_are_sent_in_one_request() -> None:
    inner = Slow()
    inner.go.set()
    used = CachedEmbedder(inner)
    await asyncio.gather(used.embed(["a", "b"]), used.embed(["b", "c"]), used.embed(["a"]))
    assert inner.calls == [["a", "b", "c"]]
    await used.close()


async def test_a_text_in_flight_is_not_sent_again() -> None:
    inner = Slow()
    used = CachedEmbedder(inner)
    first = asyncio.create_task(used.embed(["a"]))
    await inner.asked.wait()
    second = asyncio.create_task(used.embed(["a"]))
    await asyncio.sleep(0)
    inner.go.set()
    assert await first == await second
    assert inner.calls == [["a"]]
    await used.close()


async def test_large_batches_are_split() -> None:
    inner = Slow()
    inner.go.set()
    used = CachedEmbedder(inner)
    await used.embed([str(at) for at in range(600)])
    assert [len(call) for call in inner.calls] == [256, 256, 88]
    await used.close()


async def test_the_cache_is_bounded_and_keeps_the_most_recently_used_texts() -> None:
    inner = ToyEmbedder()
    used = CachedEmbedder(inner, size=2)
    for text in ("a", "b", "a", "c"):
        await used.embed([text])
    inner.embedded.clear()
    await used.embed(["a", "c"])
    await used.embed(["b"])
    assert inner.embedded == ["b"]
    await used.close()


async def test_a_failure_reaches_all_callers_and_is_not_cached() -> None:
    inner = Slow()
    inner.error = ModelBusy("busy")
    inner.go.set()
    used = CachedEmbedder(inner)
    failed = await asyncio.gather(used.embed(["a", "b"]), used.embed(["a"]), return_exceptions=True)
    assert [type(one) for one in failed] == [ModelBusy, ModelBusy]
    inner.error = None
    assert len(await used.embed(["a"])) == 1
    await used.close()


class Short(ToyEmbedder):
    """Forgets the last text."""

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return (await super().embed(texts))[:-1]


async def test_a_missing_vector_blocks_no_caller() -> None:
    used = CachedEmbedder(Short())
    for _ in range(2):
        with pytest.raises(ValueError, match="shorter"):
            await asyncio.wait_for(used.embed(["a", "b"]), 5)
    await used.close()


async def test_a_cancelled_caller_does_not_affect_the_others() -> None:
    inner = Slow()
    used = CachedEmbedder(inner)
    impatient = asyncio.create_task(used.embed(["a"]))
    patient = asyncio.create_task(used.embed(["a"]))
    await inner.asked.wait()
    impatient.cancel()
    await asyncio.sleep(0)
    inner.go.set()
    assert len(await patient) == 1
    assert impatient.cancelled()
    await used.close()


async def test_closing_cancels_open_requests() -> None:
    inner = Slow()
    used = CachedEmbedder(inner)
    waiting = asyncio.create_task(used.embed(["a"]))
    await inner.asked.wait()
    await used.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_a_cached_embedder_has_the_name_and_dimensions_of_its_embedder() -> None:
    inner = ToyEmbedder()
    used = CachedEmbedder(inner)
    assert (used.name, used.dimensions) == (inner.name, inner.dimensions)
    assert np.allclose(stack(await used.embed(["a"])), stack(await inner.embed(["a"])))
    await used.close()
