"""Ingest A, ingest B, undo B: the graph is as after A, whatever A and B are."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests import builders
from tests.builders import START, tool
from tests.extraction.canned_model import CannedModel
from tests.extraction.fixed_prompt import fixed_prompt
from tests.extraction.sample_turns import TURN_TEXTS
from tests.graph.graph_dump import dump_graph
from tests.graph.statements import DELETE_ALL, run_statement
from tests.ingestion.undo_runs import ingest_run, plan, undo
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base import ids
from turnetl.base.model import Episode, SessionId
from turnetl.extraction.hybrid import HybridExtractor
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.port import Extractor
from turnetl.extraction.structural import StructuralExtractor
from turnetl.graph.open import open_graph
from turnetl.ingestion.turn_summaries import SummaryRules
from turnetl.ingestion.undo_plan import UndoSelection
from turnetl.summaries.gate import GateLimits
from turnetl.summaries.rule_summary import RuleSummariser

EXTRACTORS = ("structural", "llm", "hybrid")
SESSIONS = ("s1", "s2")
PROMPTS = (
    *TURN_TEXTS,
    "We decided to use httpx instead of requests.",
    "No, use requests rather than httpx after all.",
    "I prefer short functions.",
)
TOOL_CALLS = (
    (),
    (tool("Bash", "pytest -q", "KeyError: 'price'", is_error=True),),
    (tool("Bash", "pytest -q", "12 passed"),),
    (tool("Edit", "/home/dev/shop/src/cart.py :: - a + b"), tool("Bash", "uv add httpx", "ok")),
)


@st.composite
def turns(draw: st.DrawFn) -> list[tuple[Episode, bool]]:
    """Turns of two sessions in the order of time, each with whether it is of the first run."""
    drawn = draw(
        st.lists(
            st.tuples(
                st.sampled_from(PROMPTS),
                st.sampled_from(TOOL_CALLS),
                st.sampled_from(SESSIONS),
                st.integers(1, 3),
                st.booleans(),
            ),
            min_size=2,
            max_size=7,
        )
    )
    return [
        (episode(number, prompt, calls, session, chunks), is_first)
        for number, (prompt, calls, session, chunks, is_first) in enumerate(drawn)
    ]


def episode(number: int, prompt: str, calls: Any, session: str, chunks: int) -> Episode:
    """Return a turn whose text is split into chunks that repeat the prompt."""
    built = builders.episode(
        f"p{number}",
        ordinal=number,
        session_id=SessionId(session),
        started_at=START + timedelta(hours=number),
        user_text=prompt,
        assistant_text=f"I see: {prompt}",
        tool_calls=calls,
    )
    texts = tuple(f"user: {prompt} ({chunk})" for chunk in range(chunks))
    return replace(built, chunks=texts, text="\n\n".join(texts), text_hash=ids.digest(*texts))


LATE_AND_INVALIDATING = [
    (
        episode(
            number, PROMPTS[number], TOOL_CALLS[number % 3], SESSIONS[number % 2], 1 + number % 3
        ),
        number in (0, 1, 4, 6),
    )
    for number in range(len(PROMPTS))
]
"""The second run has turns between those of the first one; it states facts
again, invalidates some, and replaces a decision."""


def extractor(name: str) -> Extractor[Any]:
    llm = LlmExtractor(CannedModel(), ToyEmbedder(), prompts=fixed_prompt("Look for what broke."))
    match name:
        case "structural":
            return StructuralExtractor()
        case "llm":
            return llm
        case _:
            return HybridExtractor(StructuralExtractor(), llm)


async def restores(
    url: str, lake: Path, name: str, generated: Sequence[tuple[Episode, bool]]
) -> None:
    """Check that undoing the second run restores the graph after the first one."""
    await run_statement(url, DELETE_ALL)
    first = [turn for turn, is_first in generated if is_first]
    second = [turn for turn, is_first in generated if not is_first]
    store = await open_graph(url, user="", password="", write=True)
    await store.prepare()
    rules = None
    if name == "structural":
        rules = SummaryRules(RuleSummariser(), GateLimits(burst_turns=2))
    await ingest_run(store, first, lake, extractor(name), "run-a", summaries=rules)
    await store.close()
    before = await dump_graph(url)
    store = await open_graph(url, user="", password="", write=True)
    # A day later, so that a time of the second run that stays behind is seen.
    later = START + timedelta(days=2)
    await ingest_run(store, second, lake, extractor(name), "run-b", now=later, summaries=rules)
    planned = await plan(store, builders.GROUP, UndoSelection(run="run-b"))
    assert len(planned.turns) == len(second)
    assert not planned.dependents
    assert (await undo(store, planned)).undone == len(second)
    await store.close()
    assert await dump_graph(url) == before


@pytest.mark.full
@pytest.mark.parametrize("name", EXTRACTORS)
def test_undoing_a_run_restores_the_graph_before_it(
    graph_url: str, tmp_path: Path, name: str
) -> None:
    asyncio.run(prepare(graph_url))

    # One example takes a second of CPU.
    @example(LATE_AND_INVALIDATING)
    @settings(max_examples=settings().max_examples // 8)
    @given(turns())
    def check(generated: list[tuple[Episode, bool]]) -> None:
        asyncio.run(restores(graph_url, tmp_path, name, generated))

    check()


async def prepare(url: str) -> None:
    store = await open_graph(url, user="", password="", write=True)
    await store.prepare()
    await store.close()
