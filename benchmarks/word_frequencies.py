"""Words of the facts that the structural extractor finds in archives, beside synthetic ones.

    python -m benchmarks.word_frequencies [ARCHIVES ...]

The constants of `benchmarks.fact_words` are from these figures. The default archives are those of
tests/real_archives.py.
"""

import argparse
import asyncio
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import numpy as np

from benchmarks.fact_words import FactWords
from tests import real_archives
from turnetl import pipeline
from turnetl.base.model import Episode, Fact, GroupId
from turnetl.extraction.structural import StructuralExtractor
from turnetl.graph.mirror.fulltext import tokenize
from turnetl.graph.mirror.group import MirrorGroup, empty_contents
from turnetl.lake import Lake
from turnetl.settings import Settings

CONTEXT, NOW = 3, datetime(2026, 1, 1, tzinfo=UTC)
RANKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)


def show(name: str, sentences: Sequence[str]) -> None:
    """Print how the words of the sentences are distributed."""
    terms = [tuple(tokenize(sentence)) for sentence in sentences]
    found = Counter(chain.from_iterable(map(set, terms)))
    half = random.Random(1).sample(terms, len(terms) // 2)
    of_half = len(set(chain.from_iterable(half)))
    matched = sum(found[term] for of_one in terms for term in set(of_one)) / len(terms) ** 2
    print(f"{name}: {len(terms)} facts of {sum(map(len, terms)) / len(terms):.1f} terms")
    print(f"  {len(found)} words, {len(found) / of_half:.2f} times those of half of the facts; "
          f"exponent {_exponent(Counter(chain.from_iterable(terms))):.2f}")  # fmt: skip
    shares = [count / len(terms) for _, count in found.most_common(max(RANKS))]
    at_ranks = (f"{rank:,}: {shares[rank - 1]:.2%}" for rank in RANKS if rank <= len(shares))
    print("  facts with the word of rank", ", ".join(at_ranks))
    print(f"  a search for a fact finds {matched:.2f} words in a fact")


def _exponent(frequencies: Counter[str]) -> float:
    """Return how fast the frequency of a word falls with its rank."""
    counts = [count for _, count in frequencies.most_common(max(RANKS))]
    slope, _ = np.polyfit(np.log(np.arange(1, len(counts) + 1)), np.log(counts), 1)
    return -float(slope)


async def archived_facts(archives: Sequence[str], folder: Path) -> list[Fact]:
    """Return the facts of the archives."""
    settings = Settings(lake=folder)
    pipeline.parse_archives(archives, settings)
    pipeline.filter_turns(settings)
    lake, facts = Lake(settings.lake), list[Fact]()
    for group in lake.groups():
        episodes = [one for one in lake.episodes(group) if not one.noise and one.turn.started_at]
        facts += await _facts(group, episodes)
    return facts


async def _facts(group: GroupId, episodes: Sequence[Episode]) -> list[Fact]:
    """Extract every turn against an empty group, so that facts are as first found."""
    extractor, empty = StructuralExtractor(), MirrorGroup(empty_contents(group))
    sessions: dict[str, list[Episode]] = defaultdict(list)
    facts: list[Fact] = []
    for episode in episodes:
        session = sessions[episode.turn.session_id]
        extracted = await extractor.extract(episode, session[-CONTEXT:])
        session.append(episode)
        facts += (await extractor.resolve(episode, extracted, empty, now=NOW)).facts
    return facts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("archives", nargs="*", default=[str(real_archives.ARCHIVES_OR_SAMPLES)])
    with tempfile.TemporaryDirectory() as folder:
        facts = asyncio.run(archived_facts(parser.parse_args().archives, Path(folder)))
    shares = Counter(fact.relation for fact in facts)
    show("archives", [fact.text for fact in facts])
    print("  relations", ", ".join(f"{n} {c / len(facts):.2f}" for n, c in shares.most_common(8)))
    words = FactWords(seed=1)
    show("synthetic", [words.sentence() for _ in facts])


if __name__ == "__main__":
    main()
