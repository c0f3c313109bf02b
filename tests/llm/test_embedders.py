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


async def test_vectors_come_in_the_order_of_the_texts_with_length_one(
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


async def test_many_texts_are_asked_for_in_several_goes(provider: FakeProvider) -> None:
    provider.faults = [vectors(*[[1.0, at] for at in range(256)]), vectors([0.0, 1.0])]
    used = embedder(provider)
    found = stack(await used.embed([str(at) for at in range(257)]))
    await used.close()
    assert found.shape == (257, 2)
    assert found[256].tolist() == [0.0, 1.0]
    assert [len(asked.body["input"]) for asked in provider.requests] == [256, 1]


async def test_no_texts_ask_nobody(provider: FakeProvider) -> None:
    used = embedder(provider)
    assert await used.embed([]) == []
    await used.close()
    assert provider.requests == []


async def test_texts_that_providers_refuse_are_sent_otherwise(provider: FakeProvider) -> None:
    provider.faults = [vectors([1, 0], [1, 0], [1, 0], [1, 0])]
    used = embedder(provider)
    await used.embed(["", " \n", "x" * 9_000, "\ud83d"])
    await used.close()
    assert provider.requests[0].body["input"] == ["-", "-", "x" * 8_000, "?"]


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_busy_server_is_asked_again(provider: FakeProvider, status: int) -> None:
    provider.faults = [Fault(status), Fault(status), vectors([1, 0])]
    used = embedder(provider)
    assert len(await used.embed(["a"])) == 1
    await used.close()
    assert len(provider.requests) == 3


async def test_patience_ends(provider: FakeProvider) -> None:
    provider.faults = [Fault(503)] * 3
    used = embedder(provider)
    with pytest.raises(ModelBusy, match="embedder `openai-compatible/m`"):
        await used.embed(["a"])
    await used.close()
    assert len(provider.requests) == 3


async def test_a_server_that_hangs_is_asked_three_times(provider: FakeProvider) -> None:
    provider.faults = [Fault(delivery="hangs")] * 7
    used = embedder(provider, timeouts=Timeouts(total=0.4), retry_policy=RetryPolicy(attempts=7))
    with pytest.raises(ModelBusy, match="3 attempts failed"):
        await used.embed(["a"])
    await used.close()
    assert len(provider.requests) == 3


async def test_a_wait_beyond_patience_is_not_waited(provider: FakeProvider) -> None:
    provider.faults = [Fault(429, headers={"Retry-After": "3600"})]
    used = embedder(provider)
    with pytest.raises(ModelBusy):
        await used.embed(["a"])
    await used.close()
    assert len(provider.requests) == 1


async def test_a_wrong_key_stops_at_once_and_names_its_setting(provider: FakeProvider) -> None:
    provider.faults = [Fault(401)]
    used = embedder(provider)
    with pytest.raises(ModelRefused, match="TURNETL_EMBEDDER__API_KEY"):
        await used.embed(["a"])
    await used.close()
    assert len(provider.requests) == 1


async def test_a_text_that_is_not_taken_is_bad_for_its_turn_alone(provider: FakeProvider) -> None:
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
async def test_a_slip_is_asked_for_again(provider: FakeProvider, answer: Fault, says: str) -> None:
    provider.faults = [answer, vectors([1, 0], [0, 1])]
    used = embedder(provider)
    assert len(await used.embed(["a", "b"])) == 2
    provider.faults = [answer] * 3
    with pytest.raises(ModelBusy, match=says):
        await used.embed(["a", "b"])
    await used.close()


@pytest.mark.parametrize("answer", [vectors([1, 0], [1]), vectors([1], None)])
async def test_what_are_no_vectors_says_check_the_model(
    provider: FakeProvider, answer: Fault
) -> None:
    provider.faults = [answer]
    used = embedder(provider)
    with pytest.raises(ModelRefused, match="TURNETL_EMBEDDER__MODEL"):
        await used.embed(["a", "b"])
    await used.close()


async def test_another_length_than_was_said_is_refused_with_what_to_set(
    provider: FakeProvider,
) -> None:
    provider.faults = [vectors([1, 0, 0])]
    used = embedder(provider, dimensions=2)
    with pytest.raises(ModelRefused, match="set TURNETL_EMBEDDER__DIMENSIONS to 3"):
        await used.embed(["a"])
    await used.close()


async def test_a_length_is_asked_of_models_that_have_several(provider: FakeProvider) -> None:
    provider.faults = [vectors([1, 0]), vectors([1, 0])]
    for model in ("text-embedding-3-small", "bge-m3"):
        used = embedder(provider, model=model, dimensions=2)
        await used.embed(["a"])
        await used.close()
    assert [asked.body.get("dimensions") for asked in provider.requests] == [2, None]


async def test_the_length_is_learned_from_the_model_once(provider: FakeProvider) -> None:
    provider.faults = [vectors([1, 0, 0])]
    used = embedder(provider)
    assert (used.dimensions, used.dimensions) == (3, 3)
    await used.close()
    assert len(provider.requests) == 1


async def test_requests_are_counted_beside_what_a_budget_is_held_against(
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


async def test_without_a_price_what_embeddings_cost_is_not_known(provider: FakeProvider) -> None:
    meter = Meter(Prices())
    provider.faults = [vectors([1, 0])]
    used = embedder(provider, meter=meter)
    await used.embed(["a"])
    await used.close()
    assert meter.by_prompt()["embeddings"].cost is None


async def test_several_groups_that_want_to_know_the_length_ask_once(provider: FakeProvider) -> None:
    provider.faults = [Fault(503), vectors([1, 0, 0])]
    used = embedder(provider)
    asked = [asyncio.to_thread(lambda: used.dimensions) for _ in range(4)]
    assert await asyncio.gather(*asked) == [3, 3, 3, 3]
    await used.close()
    assert len(provider.requests) == 2


async def test_a_length_that_was_said_or_seen_is_not_asked_for(provider: FakeProvider) -> None:
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


async def test_what_is_wanted_together_is_asked_for_together() -> None:
    inner = Slow()
    inner.go.set()
    used = CachedEmbedder(inner)
    await asyncio.gather(used.embed(["a", "b"]), used.embed(["b", "c"]), used.embed(["a"]))
    assert inner.calls == [["a", "b", "c"]]
    await used.close()


async def test_a_text_in_the_air_is_waited_for() -> None:
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


async def test_large_heaps_go_out_in_bounded_goes() -> None:
    inner = Slow()
    inner.go.set()
    used = CachedEmbedder(inner)
    await used.embed([str(at) for at in range(600)])
    assert [len(call) for call in inner.calls] == [256, 256, 88]
    await used.close()


async def test_no_more_is_remembered_than_was_said_and_what_was_wanted_last_stays() -> None:
    inner = ToyEmbedder()
    used = CachedEmbedder(inner, size=2)
    for text in ("a", "b", "a", "c"):
        await used.embed([text])
    inner.embedded.clear()
    await used.embed(["a", "c"])
    await used.embed(["b"])
    assert inner.embedded == ["b"]
    await used.close()


async def test_a_failure_reaches_all_who_wait_and_is_not_remembered() -> None:
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


async def test_an_embedder_that_forgets_a_text_lets_nobody_wait_for_ever() -> None:
    used = CachedEmbedder(Short())
    for _ in range(2):
        with pytest.raises(ValueError, match="shorter"):
            await asyncio.wait_for(used.embed(["a", "b"]), 5)
    await used.close()


async def test_one_who_stops_waiting_takes_it_from_nobody() -> None:
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


async def test_to_close_stops_what_is_in_the_air() -> None:
    inner = Slow()
    used = CachedEmbedder(inner)
    waiting = asyncio.create_task(used.embed(["a"]))
    await inner.asked.wait()
    await used.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_a_remembering_embedder_is_the_one_it_remembers_for() -> None:
    inner = ToyEmbedder()
    used = CachedEmbedder(inner)
    assert (used.name, used.dimensions) == (inner.name, inner.dimensions)
    assert np.allclose(stack(await used.embed(["a"])), stack(await inner.embed(["a"])))
    await used.close()
