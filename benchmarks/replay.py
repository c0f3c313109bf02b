"""Measure the journal and the single pass: no response is paid for twice, no turn sent twice.

    python -m benchmarks.replay [--turns 60] [--archives FOLDER]

Turns are ingested with a journal, and again into an empty graph. The second graph must equal the
first in every property, without a request; the provider, a process of its own, counts requests.

Then one pass is compared with two: a summary of each turn, and its extraction. The prompt of the
summary contains the raw turn as in its archive; the summary keeps every line that names an entity
for the first time, so both ways find the same facts. It is extracted twice: with the built-in
instructions, as in one pass, and without instructions. Tokens of all prompts and responses are
estimated as everywhere in turnetl.
"""

import argparse
import asyncio
import logging
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from benchmarks import provider, responders
from benchmarks.cost import at_most
from benchmarks.ingest import kept_episodes
from benchmarks.provider import ProviderProcess
from tests import real_archives
from tests.builders import GROUP
from tests.extraction import long_sample_turns
from tests.extraction.fixed_prompt import fixed_prompt
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Episode, Turn
from turnetl.episodes.chunking import estimate_tokens
from turnetl.extraction.config import ExtractionConfig, PromptConfigs
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.templates import TemplateResolver, built_in_folder
from turnetl.graph.open import open_graph
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse
from turnetl.llm.embedders.static_model import WordLlamaEmbedder
from turnetl.llm.journal import Journal, JournaledModel
from turnetl.llm.limiter import Limiter, Slots
from turnetl.llm.providers.registry import open_model
from turnetl.llm.retry import RetryPolicy
from turnetl.llm.stack import ModelStack, wrap

SUMMARISE = """Summarise this turn of a conversation with a coding agent for a knowledge graph. Keep
what was asked, decided, changed, run, broken and fixed, with the names of files, tools, commands,
errors and concepts as written in the text. Leave out code, logs and greetings. Write short
sentences, one per line.
"""
_FALLBACK_LENGTH = 160
"""Characters of the summary of a turn that names no entity."""


@dataclass
class RecordingModel:
    """A model that records the texts of requests and responses."""

    inner: ChatModel
    texts: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.inner.name

    async def complete(self, request: ChatRequest) -> ChatResponse:
        response = await self.inner.complete(request)
        self.texts += [*(message.text for message in request.messages), response.text]
        return response

    async def close(self) -> None:
        await self.inner.close()


@dataclass(frozen=True)
class ReplayResult:
    """The measurements of one run over all turns."""

    contents: GroupContents
    calls: int
    """Requests, as the provider counted them."""
    tokens: int
    """Tokens of prompts and responses, without those from the journal."""
    seconds: float


async def run(
    running: ProviderProcess,
    turns: Sequence[Episode],
    folder: Path,
    journal: Path | None = None,
    *,
    instructed: bool = True,
) -> ReplayResult:
    """Ingest the turns into an empty graph; the clock is the same in every run.

    Args:
        running: the provider.
        turns: the turns in order.
        folder: an existing folder for the graph.
        journal: the file of the journal; None runs without one.
        instructed: whether the extraction prompts contain the built-in instructions.
    """
    opened = Journal(journal, clock=long_sample_turns.TickingClock()) if journal else None
    bare = RecordingModel(
        open_model("openai-compatible", model="canned", base_url=running.base_url())
    )
    limiter = Limiter(Slots(8))
    model = wrap(bare, ModelStack(opened, None, RetryPolicy(), limiter, None))
    assert isinstance(model, JournaledModel) == (journal is not None)
    built_in = PromptConfigs(ExtractionConfig(), TemplateResolver([built_in_folder()]))
    embedder = WordLlamaEmbedder()
    store = await open_graph(f"ladybug://{folder / 'graph.lbug'}", user="", password="")
    await store.prepare()
    running.reset()
    started = time.perf_counter()
    extractor = LlmExtractor(
        model, embedder, prompts=built_in if instructed else fixed_prompt(None)
    )
    contents = await long_sample_turns.ingest(
        store, extractor, embedder, turns, folder / "quarantine"
    )
    seconds = time.perf_counter() - started
    await extractor.close()
    await store.close()
    if opened is not None:
        opened.close()
    return ReplayResult(contents, running.counts().total, tokens(bare.texts), seconds)


def summary(text: str) -> str:
    """Return the summary of a turn: the lines that name an entity for the first time."""
    known: set[str] = set()
    lines = []
    for line in text.splitlines():
        new = entity_names(line) - known
        if new:
            lines.append(line.strip())
            known |= new
    return "\n".join(lines) or text[:_FALLBACK_LENGTH]


def entity_names(line: str) -> set[str]:
    """Return the entities that the canned model finds in a line."""
    types, message = "ENTITY TYPES", "CURRENT MESSAGE"
    prompt = f"<{types}>\n[]\n</{types}>\n<{message}>\n{line}\n</{message}>"
    entities = responders.RESPONDERS["extracted_entities"](prompt)["extracted_entities"]
    return {entity["name"] for entity in entities}


def raw(turn: Turn) -> str:
    """Return the text of the turn as in its archive."""
    tools = (f"{tool.name} {tool.input}\n{tool.result}" for tool in turn.tool_calls)
    return "\n".join([turn.user_text, turn.assistant_text, *tools])


def tokens(texts: Sequence[str]) -> int:
    return int(estimate_tokens(pl.Series(texts, dtype=pl.String)).sum() or 0)


def summarise(episode: Episode) -> Episode:
    text = summary(episode.text)
    return replace(episode, text=text, chunks=(text,))


def distinct_facts(contents: GroupContents) -> set[tuple[str, str, str]]:
    names = {entity.uuid: entity.name for entity in contents.entities}
    return {(names[fact.source], fact.text, names[fact.target]) for fact in contents.facts}


async def main(turns: int, archives: Path) -> bool:
    with tempfile.TemporaryDirectory() as lake:
        fitting = [
            episode for episode in kept_episodes(archives, Path(lake)) if len(episode.chunks) == 1
        ]
    episodes = [_in_group(episode) for episode in fitting[:turns]]
    with (
        tempfile.TemporaryDirectory() as temporary,
        provider.running(responders="benchmarks.responders") as running,
    ):
        folders = [Path(temporary) / name for name in ("first", "second", "instructed", "bare")]
        for folder in folders:
            folder.mkdir()
        journal = Path(temporary) / "journal.sqlite"
        first = await run(running, episodes, folders[0], journal)
        second = await run(running, episodes, folders[1], journal)
        short = [summarise(episode) for episode in episodes]
        two_passes = await run(running, short, folders[2])
        bare = await run(running, short, folders[3], instructed=False)
    print(f"{len(episodes)} turns of `{archives.name}`")
    for name, result in (("first run", first), ("second run", second)):
        facts = len(result.contents.facts)
        print(f"  {name}: {result.calls} calls, {facts} facts, {result.seconds:.1f} s")
    same = second.contents == first.contents
    print(f"  identical graphs: {same}")
    prompts = [f"{SUMMARISE}\n{raw(episode.turn)}" for episode in episodes]
    summarising = tokens(prompts) + tokens([episode.text for episode in short])
    print(f"  tokens per turn\n{'':30}{'summarise':>10} {'extract':>8} {'total':>9} {'facts':>6}")
    _show("one pass", 0, first, len(episodes))
    _show("two passes", summarising, two_passes, len(episodes))
    _show("two, without instructions", summarising, bare, len(episodes))
    passed = at_most("calls with all responses in the journal", second.calls, 0)
    return passed and same


def _show(name: str, summarising: int, result: ReplayResult, turns: int) -> None:
    print(
        f"    {name:26}{summarising / turns:10,.0f} {result.tokens / turns:8,.0f} "
        f"{(summarising + result.tokens) / turns:9,.0f} {len(distinct_facts(result.contents)):6}"
    )


def _in_group(episode: Episode) -> Episode:
    return replace(episode, turn=replace(episode.turn, group_id=GROUP))


if __name__ == "__main__":
    logging.disable(logging.ERROR)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--archives", type=Path, default=real_archives.ARCHIVES_OR_SAMPLES)
    arguments = parser.parse_args()
    sys.exit(not asyncio.run(main(arguments.turns, arguments.archives)))
