"""The ranking is made of stages: each can be left out, and then only its evidence is missing."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests import builders
from tests.builders import GROUP, START
from tests.fakes.followed_graphs import LoadedGraph
from turnetl.base import ids
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Entity, Fact, SessionId
from turnetl.index.persistent import PersistentIndex
from turnetl.llm.embedders.static_model import StaticModel, WordLlamaEmbedder
from turnetl.retrieval.query import Thesaurus, analyze
from turnetl.retrieval.ranking import WEIGHTS, Evidence, RankedTurn, rank

EMBEDDER = WordLlamaEmbedder()


@dataclass(frozen=True)
class Said:
    """A turn of a test."""

    text: str
    session: str = ""
    """Empty: a session of its own."""
    fact: str = ""


def contents(turns: Mapping[str, Said]) -> GroupContents:
    """Return a group of turns, a minute apart in this order."""
    episodes = [
        builders.episode(
            name,
            session_id=SessionId(said.session or name),
            ordinal=minute,
            started_at=START + timedelta(minutes=minute),
        )
        for minute, (name, said) in enumerate(turns.items())
    ]
    facts = [
        Fact(
            ids.digest(name), GROUP, "e1", "e2", "MODIFIED", said.fact, (episode.turn_id,),
            created_at=START, valid_at=START,
        )
        for episode, (name, said) in zip(episodes, turns.items(), strict=True)
        if said.fact
    ]  # fmt: skip
    return GroupContents(
        group_id=GROUP,
        profile=None,
        entities=tuple(Entity(uuid, GROUP, "thing", (), "", START) for uuid in ("e1", "e2")),
        facts=tuple(facts),
        receipts=tuple(builders.receipt(episode) for episode in episodes),
        texts={
            episode.turn_id: said.text
            for episode, said in zip(episodes, turns.values(), strict=True)
        },
    )


async def indexed(folder: Path, group: GroupContents) -> PersistentIndex:
    index = PersistentIndex(folder, EMBEDDER.name, EMBEDDER.dimensions)
    await index.catch_up(LoadedGraph(group), EMBEDDER, now=START)
    return index


async def ranked(
    index: PersistentIndex, query: str, weights: Mapping[Evidence, float]
) -> list[RankedTurn]:
    static_model = StaticModel.open()
    return rank(await analyze(query, EMBEDDER, static_model), index, static_model, None, weights)


def names(turns: Sequence[RankedTurn], of: Mapping[str, Said]) -> list[str]:
    by_id = {ids.turn_id(GROUP, "claude_code", name): name for name in of}
    return [by_id[found.turn.receipt.turn_id] for found in turns]


def without(kind: Evidence) -> dict[Evidence, float]:
    return {other: weight for other, weight in WEIGHTS.items() if other != kind}


ZOO = {
    "prompt": Said("user: feed the walrus\n\nassistant: Done.", session="zoo"),
    "next": Said("user: do it\n\nassistant: Done.", session="zoo"),
    "answer": Said("user: go on\n\nassistant: The walrus was fed."),
    "fact": Said("user: tidy up\n\nassistant: Done.", fact="`walrus.py` was edited"),
    "meaning": Said("user: why is the shopping cart empty?\n\nassistant: Nobody filled it."),
}


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PersistentIndex]:
    with closing(asyncio.run(indexed(tmp_path_factory.mktemp("zoo"), contents(ZOO)))) as index:
        yield index


@pytest.mark.parametrize(
    ("kind", "query", "found"),
    [
        (Evidence.TEXT_TERMS, "walrus", {"prompt", "answer"}),
        (Evidence.PROMPT_TERMS, "walrus", {"prompt"}),
        (Evidence.FACT_TERMS, "walrus", {"fact"}),
        (Evidence.PASSAGE_TERMS, "walrus", {"prompt", "answer"}),
        (Evidence.SIMILARITY, "the basket had nothing in it", {"meaning"}),
        (Evidence.LATE_INTERACTION, "walrus", set()),
        (Evidence.PREVIOUS_TURN, "walrus", set()),
    ],
)
async def test_a_stage_alone_finds_what_it_looks_at_and_nothing_else(
    zoo: PersistentIndex, kind: Evidence, query: str, found: set[str]
) -> None:
    assert set(names(await ranked(zoo, query, {kind: 1.0}), ZOO)) == found


@pytest.mark.parametrize(
    ("kind", "query", "lost"),
    [
        (Evidence.FACT_TERMS, "walrus", "fact"),
        (Evidence.SIMILARITY, "the basket had nothing in it", "meaning"),
        (Evidence.PREVIOUS_TURN, "walrus", "next"),
    ],
)
async def test_a_turn_that_only_one_stage_finds_is_lost_without_it(
    zoo: PersistentIndex, kind: Evidence, query: str, lost: str
) -> None:
    found = set(names(await ranked(zoo, query, WEIGHTS), ZOO))
    assert lost in found
    assert set(names(await ranked(zoo, query, without(kind)), ZOO)) == found - {lost}


FAR = "\n\nassistant: " + "This line is about something else. " * 40
RIVALS = {
    Evidence.PROMPT_TERMS: (
        "walrus",
        Said("user: feed the walrus\n\nassistant: count the carts"),
        Said("user: count the carts\n\nassistant: feed the walrus"),
    ),
    Evidence.FACT_TERMS: (
        "walrus",
        Said("user: feed the walrus", fact="`walrus.py` was edited"),
        Said("user: feed the walrus"),
    ),
    Evidence.PASSAGE_TERMS: (
        "walrus pool",
        Said(f"user: begin\n\nassistant: The walrus has a pool.{FAR}"),
        Said(f"user: begin\n\nassistant: The walrus has one.{FAR} A pool."),
    ),
    Evidence.SIMILARITY: (
        "walrus basket",
        Said("user: the walrus and the shopping cart"),
        Said("user: the walrus and the compiler flag"),
    ),
    Evidence.LATE_INTERACTION: (
        "walrus basket",
        Said("user: the walrus and the shopping cart"),
        Said("user: the walrus and the compiler flag"),
    ),
    Evidence.PREVIOUS_TURN: (
        "walrus",
        Said("user: feed the walrus again", session="zoo"),
        Said("user: feed the walrus again"),
    ),
}


@pytest.mark.parametrize("kind", RIVALS)
async def test_a_stage_puts_the_turn_first_that_it_speaks_for(
    tmp_path: Path, kind: Evidence
) -> None:
    query, right, other = RIVALS[kind]
    turns = {
        "before": Said("user: the walrus arrives", session="zoo"),
        "right": right,
        "other": other,
    }
    words = {Evidence.TEXT_TERMS: 1.0}

    def of_rivals(found: Sequence[RankedTurn]) -> list[str]:
        return [name for name in names(found, turns) if name != "before"]

    with closing(await indexed(tmp_path, contents(turns))) as index:
        assert of_rivals(await ranked(index, query, words)) == ["other", "right"]
        assert of_rivals(await ranked(index, query, {**words, kind: 1.0})) == ["right", "other"]


@pytest.mark.parametrize("kind", Evidence)
async def test_what_the_other_stages_found_stays_as_it_is_without_a_stage(
    zoo: PersistentIndex, kind: Evidence
) -> None:
    complete = await ranked(zoo, "who feeds the walrus", WEIGHTS)
    partial = await ranked(zoo, "who feeds the walrus", without(kind))
    assert any(found.evidence[kind] > 0 for found in complete)
    before = {found.turn.key: found.evidence for found in complete}
    for found in partial:
        # The score of the turn before contains the stage that is missing.
        independent = found.evidence.keys() - {Evidence.PREVIOUS_TURN}
        assert independent == before[found.turn.key].keys() - {kind, Evidence.PREVIOUS_TURN}
        # Sums of float32 differ in their last bits with the number of rows that are multiplied.
        same = {of: pytest.approx(before[found.turn.key][of], rel=1e-5) for of in independent}
        assert {of: found.evidence[of] for of in independent} == same
        total = sum(WEIGHTS[of] * value for of, value in found.evidence.items())
        assert found.score == pytest.approx(total / sum(without(kind).values()))


async def test_with_any_stage_left_out_the_ranking_does_not_depend_on_how_the_index_was_made(
    tmp_path: Path,
) -> None:
    group = contents({**ZOO, "again": ZOO["prompt"], "twice": ZOO["answer"]})
    rankings = []
    for number, receipts in enumerate((group.receipts, group.receipts[::-1])):
        stored = replace(group, receipts=receipts, facts=group.facts[::-1])
        with closing(await indexed(tmp_path / str(number), stored)) as index:
            for _ in range(2):
                found = [
                    await ranked(index, "who feeds the walrus", weights)
                    for weights in (WEIGHTS, *map(without, Evidence))
                ]
                rankings.append(
                    [[hit.turn.receipt.turn_id for hit in of_weights] for of_weights in found]
                )
    assert all(len(of_weights) >= 5 for of_weights in rankings[0])
    assert all(ranking == rankings[0] for ranking in rankings)


PETS = {
    "word": Said("user: the dog barks\n\nassistant: Done."),
    "phrase": Said("user: the best friend barks\n\nassistant: Done."),
    "part": Said("user: the best cat barks\n\nassistant: Done."),
    "none": Said("user: the worst bird barks\n\nassistant: Done."),
}


async def test_a_word_counts_more_than_what_stands_for_it_and_that_more_than_a_part_of_it(
    tmp_path: Path,
) -> None:
    thesaurus, static_model = Thesaurus([("dog", "best friend")]), StaticModel.open()
    with closing(await indexed(tmp_path, contents(PETS))) as index:
        query = await analyze("which dog barks", EMBEDDER, static_model, thesaurus)
        for kind in (Evidence.TEXT_TERMS, Evidence.PASSAGE_TERMS, Evidence.SESSION_TERMS):
            weights = {Evidence.TEXT_TERMS: 1e-9, kind: 1.0}
            found = rank(query, index, static_model, None, weights)
            score = dict(zip(names(found, PETS), (hit.score for hit in found), strict=True))
            assert score["word"] > score["phrase"] > score["part"]
            assert score["part"] == pytest.approx(score["none"], abs=1e-6)
