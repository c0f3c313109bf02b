"""Nothing is paid for twice: turns ingested with a journal, and again into an empty graph. And what
it saves that a turn is read once: one pass beside a summary that is made first and then extracted.

    python -m benchmarks.replay [--turns 60] [--archives FOLDER]

The second graph must be the first, to the last property, without one call; calls are counted by the
provider, a process of its own. Tokens are those of all prompts and answers, as turnetl estimates
tokens everywhere. The summary of the two passes is asked for with the raw turn, as its archive has
it, and keeps every line that names a thing for the first time: both ways find the same facts. It is
extracted twice: with the built-in instructions, as one pass is, and without any.
"""

import argparse
import asyncio
import logging
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from benchmarks import provider, responders
from benchmarks.cost import at_most
from benchmarks.ingest import kept_episodes
from benchmarks.provider import ProviderProcess
from tests import real
from tests.builders import GROUP
from tests.extraction import long_sample_turns
from turnetl.episodes.tokens import estimate
from turnetl.extraction.config import ExtractionConfig
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.prompt_config import PromptConfigs, fixed_prompt
from turnetl.extraction.templates import TemplateResolver, built_in_folder
from turnetl.graph.open import open_graph
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse
from turnetl.llm.embedders import WordLlamaEmbedder
from turnetl.llm.journal import Journal, JournaledModel
from turnetl.llm.limiter import Limiter
from turnetl.llm.providers.registry import open_model
from turnetl.llm.retry import RetryPolicy
from turnetl.llm.stack import ModelStack, wrap
from turnetl.model import Episode, GroupContents, Turn

SUMMARISE = """Summarise this turn of a conversation with a coding agent for a knowledge graph. Keep
what was asked, decided, changed, run, broken and mended, with the names of files, tools, commands,
errors and concepts as they stand in the text. Leave out code, logs and greetings. Write short
sentences, one a line.
"""
_SHORTEST = 160
"""Characters of the summary of a turn that names nothing."""


@dataclass
class Counting:
    """A model that remembers what was said to it and by it."""

    inner: ChatModel
    said: list[str] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        return self.inner.name

    async def complete(self, request: ChatRequest) -> ChatResponse:
        answer = await self.inner.complete(request)
        self.calls[request.prompt_name] += 1
        self.said += [*(one.text for one in request.messages), answer.text]
        return answer

    async def close(self) -> None:
        await self.inner.close()


@dataclass(frozen=True)
class Took:
    """One way through all turns."""

    contents: GroupContents
    calls: int
    """As the provider counted."""
    tokens: int
    """Of prompts and answers, but for those that came out of the journal."""
    seconds: float


async def ingested(
    asked: ProviderProcess,
    turns: Sequence[Episode],
    folder: Path,
    journal: Path | None = None,
    *,
    told: bool = True,
) -> Took:
    """Put the turns into an empty graph; the clock is the same each time.

    Args:
        asked: the provider.
        turns: in order.
        folder: of the graph, there already.
        journal: where answers are kept, and looked for.
        told: whether the built-in instructions stand in the prompts that extract.
    """
    kept_in = Journal(journal, clock=long_sample_turns.TickingClock()) if journal else None
    bare = Counting(open_model("openai-compatible", model="canned", base_url=asked.base_url()))
    limiter = Limiter(None, None, 8)
    model = wrap(bare, ModelStack(kept_in, None, RetryPolicy(), limiter, None))
    assert isinstance(model, JournaledModel) == (journal is not None)
    built = PromptConfigs(ExtractionConfig(), TemplateResolver([built_in_folder()]))
    embedder = WordLlamaEmbedder()
    store = await open_graph(f"ladybug://{folder / 'graph.lbug'}", user="", password="")
    await store.prepare()
    asked.reset()
    started = time.perf_counter()
    extractor = LlmExtractor(model, embedder, prompts=built if told else fixed_prompt(None))
    contents = await long_sample_turns.ingest(store, extractor, embedder, turns, folder / "aside")
    seconds = time.perf_counter() - started
    await extractor.close()
    await store.close()
    if kept_in is not None:
        kept_in.close()
    return Took(contents, asked.counts().total, tokens(bare.said), seconds)


def summary(text: str) -> str:
    """Return what a model keeps of a turn: the lines that name a thing for the first time."""
    known: set[str] = set()
    lines = []
    for line in text.splitlines():
        new = named(line) - known
        if new:
            lines.append(line.strip())
            known |= new
    return "\n".join(lines) or text[:_SHORTEST]


def named(line: str) -> set[str]:
    """Return the things that the canned model finds in a line."""
    kinds, message = "ENTITY TYPES", "CURRENT MESSAGE"
    prompt = f"<{kinds}>\n[]\n</{kinds}>\n<{message}>\n{line}\n</{message}>"
    found = responders.RESPONDERS["extracted_entities"](prompt)["extracted_entities"]
    return {one["name"] for one in found}


def raw(turn: Turn) -> str:
    """Return the turn as its archive has it."""
    tools = (f"{tool.name} {tool.input}\n{tool.result}" for tool in turn.tool_calls)
    return "\n".join([turn.user_text, turn.assistant_text, *tools])


def tokens(texts: Sequence[str]) -> int:
    return int(estimate(pl.Series(texts, dtype=pl.String)).sum() or 0)


def summarised(one: Episode) -> Episode:
    text = summary(one.text)
    return replace(one, text=text, parts=(text,))


def of_its_facts(contents: GroupContents) -> set[tuple[str, str, str]]:
    named = {entity.uuid: entity.name for entity in contents.entities}
    return {(named[fact.source], fact.text, named[fact.target]) for fact in contents.facts}


async def main(turns: int, archives: Path) -> bool:
    with tempfile.TemporaryDirectory() as lake:
        whole = [one for one in kept_episodes(archives, Path(lake)) if len(one.parts) == 1]
    episodes = [_of_the_group(one) for one in whole[:turns]]
    with (
        tempfile.TemporaryDirectory() as temporary,
        provider.running(responders="benchmarks.responders") as asked,
    ):
        folders = [Path(temporary) / name for name in ("first", "again", "told", "bare")]
        for folder in folders:
            folder.mkdir()
        journal = Path(temporary) / "journal.sqlite"
        first = await ingested(asked, episodes, folders[0], journal)
        again = await ingested(asked, episodes, folders[1], journal)
        short = [summarised(one) for one in episodes]
        second = await ingested(asked, short, folders[2])
        bare = await ingested(asked, short, folders[3], told=False)
    print(f"{len(episodes)} turns of `{archives.name}`")
    for name, took in (("first", first), ("again", again)):
        facts = len(took.contents.facts)
        print(f"  {name}: {took.calls} calls, {facts} facts, {took.seconds:.1f} s")
    same = again.contents == first.contents
    print(f"  the same graph: {same}")
    asking = [f"{SUMMARISE}\n{raw(one.turn)}" for one in episodes]
    summing = tokens(asking) + tokens([one.text for one in short])
    print(f"  tokens a turn\n{'':30}{'summarise':>10} {'extract':>8} {'together':>9} {'facts':>6}")
    _show("one pass", 0, first, len(episodes))
    _show("two passes", summing, second, len(episodes))
    _show("two, extracted as it comes", summing, bare, len(episodes))
    held = at_most("calls when all is in the journal", again.calls, 0)
    return held and same


def _show(name: str, summing: int, took: Took, turns: int) -> None:
    print(
        f"    {name:26}{summing / turns:10,.0f} {took.tokens / turns:8,.0f} "
        f"{(summing + took.tokens) / turns:9,.0f} {len(of_its_facts(took.contents)):6}"
    )


def _of_the_group(one: Episode) -> Episode:
    return replace(one, turn=replace(one.turn, group_id=GROUP))


if __name__ == "__main__":
    logging.disable(logging.ERROR)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--archives", type=Path, default=real.ARCHIVES_OR_SAMPLES)
    given = parser.parse_args()
    sys.exit(not asyncio.run(main(given.turns, given.archives)))
