"""A redo of a group: what it repeats, that it loses nothing, and what it refuses."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import polars as pl
import pytest

from tests import frames
from tests.builders import GROUP, START, tool, turn
from tests.extraction.canned_model import CannedModel, request_text
from tests.extraction.fixed_prompt import fixed_prompt
from tests.ingestion.fakes import PromptExtractor
from tests.ingestion.redo_runs import (
    SCOPE,
    carry_out,
    dump_in_order,
    empty,
    ingest,
    opened,
    plan_redo_of,
    redo,
    write_lake,
)
from tests.servers.toy_embedder import ToyEmbedder
from turnetl import noise
from turnetl.base.errors import GraphUnusable, ModelUnusable
from turnetl.base.model import SessionId, Turn
from turnetl.episodes import Filters
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.port import Extractor
from turnetl.extraction.structural import StructuralExtractor
from turnetl.ingestion.reasons import StaleReason
from turnetl.ingestion.redo_report import RedoSelection
from turnetl.lake import Lake
from turnetl.llm.chat import ChatRequest

PROMPTS = (
    "Look at the shop: `cart.py` uses `sqlite`.",
    "We decided to use httpx instead of requests.",
    "Run the tests of the shop.",
    "No, use requests rather than httpx after all.",
    "Run the tests again.",
)
TOOL_CALLS = (
    (tool("Edit", "/home/dev/shop/src/cart.py :: - a + b"),),
    (),
    (tool("Bash", "pytest -q", "KeyError: 'price'", is_error=True),),
    (tool("Bash", "uv add requests", "ok"),),
    (tool("Bash", "pytest -q", "12 passed"),),
)


def turns(number: int = len(PROMPTS)) -> list[Turn]:
    return [
        turn(
            f"p{at}",
            user_text=PROMPTS[at],
            tool_calls=TOOL_CALLS[at],
            started_at=START + timedelta(hours=at),
            session_id=SessionId(f"s{at % 2}"),
            ordinal=at,
            first_line=at + 1,
        )
        for at in range(number)
    ]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Return a lake of the turns; it is only read."""
    return write_lake(tmp_path_factory.mktemp("lake"), turns())


def llm(instructions: str = "Look for what broke.", model: Any = None) -> Extractor[Any]:
    return LlmExtractor(model or CannedModel(), ToyEmbedder(), prompts=fixed_prompt(instructions))


def terse(request: ChatRequest) -> dict[str, Any] | None:
    """Find one entity per turn, and no facts."""
    fields = request.schema.json["properties"] if request.schema else {}
    if "extracted_entities" in fields:
        name = next(prompt for prompt in PROMPTS if prompt[:12] in request_text(request))
        return {"extracted_entities": [{"name": name, "entity_type_id": 0, "episode_indices": [0]}]}
    return {"edges": []} if "edges" in fields else None


CHANGES: dict[str, tuple[Callable[[], Extractor[Any]], Callable[[], Extractor[Any]]]] = {
    "template": (llm, lambda: llm("Look for what changed.", CannedModel(terse))),
    "to a model": (StructuralExtractor, llm),
    "to rules": (llm, StructuralExtractor),
}


@pytest.mark.full
@pytest.mark.parametrize("change", CHANGES)
async def test_a_redo_of_stale_turns_equals_a_fresh_ingest_with_the_recipe_of_today(
    graph_url: str, lake: Lake, change: str
) -> None:
    before, after = CHANGES[change]
    async with opened(graph_url, lake, before()) as resources:
        assert (await ingest(resources)).committed == len(PROMPTS)
    unchanged = await dump_in_order(graph_url)
    async with opened(graph_url, lake, after()) as resources:
        done = await redo(resources)
        assert (done.undone, done.ingested and done.ingested.committed) == (5, 5)
        assert await plan_redo_of(resources) is None
    redone = await dump_in_order(graph_url)
    await empty(graph_url)
    async with opened(graph_url, lake, after()) as resources:
        await ingest(resources)
    assert redone == await dump_in_order(graph_url)
    assert redone != unchanged


@pytest.mark.full
@pytest.mark.parametrize("make", [StructuralExtractor, llm])
async def test_a_redo_with_an_unchanged_recipe_changes_nothing(
    graph_url: str, lake: Lake, make: Any
) -> None:
    async with opened(graph_url, lake, make()) as resources:
        await ingest(resources)
    before = await dump_in_order(graph_url)
    for selected, one in enumerate(turns()):
        async with opened(graph_url, lake, make()) as resources:
            done = await redo(resources, RedoSelection(turn=one.turn_id))
        assert done.undone == len(PROMPTS) - selected
        assert await dump_in_order(graph_url) == before


@pytest.mark.full
async def test_an_exact_redo_repeats_the_turns_that_were_committed_out_of_order_too(
    graph_url: str, lake: Lake
) -> None:
    _, second, *_ = turns()
    late = RedoSelection(turn=turns()[-1].turn_id)
    async with opened(graph_url, lake, llm()) as resources:
        await ingest(resources, "b", replace(SCOPE, since=second.started_at))
        await ingest(resources, "a")
        again = await plan_redo_of(resources, late)
        assert again is not None
        assert (len(again.redo.selected), len(again.redo.later)) == (1, 1)
        done = await redo(resources, late, exact=True)
        assert done.undone == len(PROMPTS)
    redone = await dump_in_order(graph_url)
    await empty(graph_url)
    async with opened(graph_url, lake, llm()) as resources:
        await ingest(resources)
    assert redone == await dump_in_order(graph_url)


async def test_the_plan_lists_later_turns_and_says_which_of_them_built_on_the_selected_ones(
    graph_url: str, tmp_path: Path
) -> None:
    prompts = ("add a cart", "fix the cart", "test the cart", "fix the cart")
    given = [replace(one, user_text=prompts[at]) for at, one in enumerate(turns(len(prompts)))]
    lake = write_lake(tmp_path / "lake", given)
    async with opened(graph_url, lake, PromptExtractor()) as resources:
        await ingest(resources)
        planned = await plan_redo_of(resources, RedoSelection(turn=given[1].turn_id))
    assert planned is not None
    assert [receipt.turn_id for receipt in planned.redo.selected] == [given[1].turn_id]
    assert [receipt.turn_id for receipt in planned.redo.later] == [one.turn_id for one in given[2:]]
    assert planned.redo.dependents == {given[3].turn_id}


class FailingModel(CannedModel):
    """Fails as a provider that rejects the key, after a number of responses."""

    def __init__(self, responses: int) -> None:
        super().__init__()
        self._left = responses

    async def complete(self, request: ChatRequest) -> Any:
        if not self._left:
            raise ModelUnusable("the key was rejected")
        self._left -= 1
        return await super().complete(request)


@pytest.mark.full
@pytest.mark.parametrize("responses", [0, 4, 9])
async def test_a_model_that_fails_leaves_the_graph_as_it_was(
    graph_url: str, lake: Lake, responses: int
) -> None:
    async with opened(graph_url, lake, StructuralExtractor()) as resources:
        await ingest(resources)
    before = await dump_in_order(graph_url)
    async with opened(graph_url, lake, llm(model=FailingModel(responses))) as resources:
        done = await redo(resources)
    assert (done.undone, str(done.error)) == (0, "the key was rejected")
    assert await dump_in_order(graph_url) == before


@pytest.mark.full
async def test_a_turn_that_cannot_be_extracted_any_more_is_named_and_nothing_is_undone(
    graph_url: str, lake: Lake
) -> None:
    def invalid(request: ChatRequest) -> str | None:
        return "no JSON" if PROMPTS[3] in request_text(request) else None

    async with opened(graph_url, lake, StructuralExtractor()) as resources:
        await ingest(resources)
    before = await dump_in_order(graph_url)
    async with opened(graph_url, lake, llm(model=CannedModel(invalid))) as resources:
        done = await redo(resources)
    assert isinstance(done.error, GraphUnusable)
    assert "nothing of it was undone: archives/s1.jsonl:4: " in str(done.error)
    assert await dump_in_order(graph_url) == before


@pytest.mark.full
async def test_what_noise_rules_match_today_is_undone_and_not_ingested_again(
    graph_url: str, tmp_path: Path
) -> None:
    lake = write_lake(tmp_path / "lake", turns())
    async with opened(graph_url, lake, StructuralExtractor()) as resources:
        await ingest(resources)
        rule = noise.NoiseRule("tests", 1, "For this test.", pl.col("user_text") == PROMPTS[2])
        rows = frames.episode_table(frames.turns(*turns()), Filters(rules=(rule,)))
        lake.write_episodes(GROUP, [rows], dict)
        planned = await plan_redo_of(resources)
        assert planned is not None
        assert planned.stale_reasons == {StaleReason.NOISE: 1}
        assert (planned.left_out, planned.unrepeatable) == ({"tests": 1}, {})
        done = await carry_out(resources, planned)
        assert (done.undone, done.ingested and done.ingested.committed) == (3, 2)
    redone = await dump_in_order(graph_url)
    await empty(graph_url)
    async with opened(graph_url, lake, StructuralExtractor()) as resources:
        await ingest(resources)
    assert redone == await dump_in_order(graph_url)


async def test_a_plan_says_which_turns_could_not_be_ingested_again(
    graph_url: str, tmp_path: Path, lake: Lake
) -> None:
    async with opened(graph_url, lake, StructuralExtractor()) as resources:
        await ingest(resources)
    given = turns()
    given[2] = replace(given[2], started_at=None, ended_at=None)
    del given[3]
    smaller = write_lake(tmp_path / "smaller", given)
    async with opened(graph_url, smaller, StructuralExtractor()) as resources:
        planned = await plan_redo_of(resources, RedoSelection(turn=given[0].turn_id))
    assert planned is not None
    assert planned.unrepeatable == {"missing from the lake": 1, "no_time": 1}


@pytest.mark.full
async def test_of_two_machines_with_different_recipes_the_later_one_finds_its_plan_outdated(
    graph_url: str, lake: Lake
) -> None:
    async with opened(graph_url, lake, StructuralExtractor()) as resources:
        await ingest(resources)
        one = replace(resources, extractor=llm("Look for what broke."))
        other = replace(resources, extractor=llm("Look for what changed."))
        plans = [await plan_redo_of(one), await plan_redo_of(other)]
        assert plans[0] is not None
        assert plans[1] is not None
        await carry_out(one, plans[0], run_id="one")
        refused = await carry_out(other, plans[1], run_id="other")
        assert refused.undone == 0
        assert "another run committed or undid turns meanwhile" in str(refused.error)
        assert await plan_redo_of(one) is None


FreshGraphs = dict[tuple[str, Any], list[str]]


@pytest.fixture(scope="module")
def fresh() -> FreshGraphs:
    """Return the dump of a fresh ingest, for each kind of store and of extractor."""
    return {}


@pytest.mark.full
@pytest.mark.parametrize("make", [StructuralExtractor, llm])
@pytest.mark.parametrize(
    "ended_at", [("extract", 1), ("undo", 0), ("undo", 2), ("undo", 5), ("ingest", 2)]
)
async def test_a_redo_that_ends_anywhere_is_completed_by_a_redo_and_an_ingest(
    graph_url: str, lake: Lake, make: Any, ended_at: tuple[str, int], fresh: FreshGraphs
) -> None:
    first = llm() if make is StructuralExtractor else StructuralExtractor()
    async with opened(graph_url, lake, first) as resources:
        await ingest(resources)
    await end_redo(graph_url, lake, make(), ended_at)
    async with opened(graph_url, lake, make()) as resources:
        if (planned := await plan_redo_of(resources)) is not None:
            done = await carry_out(resources, planned, run_id="again")
            assert done.error is None
        await ingest(resources, "completed")
    completed = await dump_in_order(graph_url)
    kind = (urlsplit(graph_url).scheme, make)
    if kind not in fresh:
        await empty(graph_url)
        async with opened(graph_url, lake, make()) as resources:
            await ingest(resources)
        fresh[kind] = await dump_in_order(graph_url)
    assert completed == fresh[kind]


class RedoEnded(BaseException):
    """The end of a process between two transactions."""


async def end_redo(
    url: str, lake: Lake, extractor: Extractor[Any], ended_at: tuple[str, int]
) -> None:
    """Redo the stale turns until a step, which a redo without a model may not have."""
    async with opened(url, lake, extractor) as resources:
        planned = await plan_redo_of(resources)
        assert planned is not None

        def end(stage: str, done: int, _total: int) -> None:
            if (stage, done) == ended_at:
                raise RedoEnded

        if ended_at[0] == "extract" and extractor.model is None:
            return
        with pytest.raises(RedoEnded):
            await carry_out(resources, planned, progress=end)
