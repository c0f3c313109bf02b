"""Answers that fit their form and make no sense: none of them may harm a graph or fail a commit."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import builders
from tests.extraction import sample_turns
from tests.extraction.canned_model import Canned
from tests.scale import scaled
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.prompt_config import fixed_prompt
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.graph.port import GraphStore
from turnetl.ingest.quarantine import Quarantine
from turnetl.ingest.turn_pipeline import IngestRun, TurnPipeline
from turnetl.llm.chat import ChatRequest
from turnetl.llm.sanitize import sanitized
from turnetl.model import Episode, GroupId

NODES, EDGES = "extract_nodes.extract_message", "extract_edges.edge"
DEDUPE, RESOLVE = "dedupe_nodes.nodes", "dedupe_edges.resolve_edge"
SUMMARIES = "extract_nodes.extract_summaries_batch"
Answers = Mapping[str, Any]


def says(answers: Answers) -> Callable[[ChatRequest], str | None]:
    return lambda q: json.dumps(answers[q.prompt_name]) if q.prompt_name in answers else None


def edge(source: str = "a.py", target: str = "b.py", **fields: Any) -> dict[str, Any]:
    ends = {"source_entity_name": source, "target_entity_name": target}
    said = {"relation_type": "USES", "fact": f"{source} uses {target}", "episode_indices": [0]}
    return {**ends, **said, **fields}


def named(*names: str, kind: int = 0) -> dict[str, Any]:
    return {
        "extracted_entities": [
            {"name": name, "entity_type_id": kind, "episode_indices": [7, -1]} for name in names
        ]
    }


async def grown() -> MirrorGroup:
    group = sample_turns.empty_group()
    asks = LlmExtractor(Canned(), ToyEmbedder(), prompts=fixed_prompt(None))
    await sample_turns.take_in(asks, sample_turns.episodes()[:4], group, ToyEmbedder())
    return group


async def after(answers: Answers) -> tuple[MirrorGroup, MirrorGroup]:
    """Return the group before and after a turn that is answered so."""
    group, before = await grown(), await grown()
    asks = LlmExtractor(Canned(says(answers)), ToyEmbedder(), prompts=fixed_prompt("Look."))
    await sample_turns.take_in(asks, sample_turns.episodes()[4:5], group, ToyEmbedder())
    return before, group


def whole(group: MirrorGroup) -> bool:
    """Whether every fact joins things that are there, in the group itself."""
    return all(
        group.entity(fact.source) and group.entity(fact.target) and fact.group_id == group.group_id
        for fact in group.facts
    )


async def test_candidates_that_were_not_offered_are_no_match() -> None:
    resolutions = [
        {"id": 0, "name": "cart.py", "duplicate_candidate_id": 99},
        {"id": 0, "name": "cart.py", "duplicate_candidate_id": 0},
        {"id": 41, "name": "x", "duplicate_candidate_id": 0},
        {"id": -1, "name": "y", "duplicate_candidate_id": -7},
    ]
    before, group = await after(
        {
            NODES: named("cart", "lite"),
            EDGES: {"edges": [edge("cart", "lite")]},
            DEDUPE: {"entity_resolutions": resolutions},
        }
    )
    assert {one.name for one in group.entities} == {
        *(one.name for one in before.entities),
        "cart",
        "lite",
    }
    assert whole(group)


async def test_facts_that_were_not_offered_are_neither_doubled_nor_ended() -> None:
    strange = {"duplicate_facts": [-1, 500, 10**30], "contradicted_facts": [999, -5, 10**40]}
    before, group = await after(
        {
            NODES: named("cart.py", "sqlite"),
            EDGES: {"edges": [edge("cart.py", "sqlite", fact="cart.py reads sqlite slowly")]},
            RESOLVE: strange,
        }
    )
    assert "cart.py reads sqlite slowly" in {fact.text for fact in group.facts}
    for fact in before.facts:
        assert group.fact(fact.uuid) == fact


async def test_ends_that_nobody_named_and_kinds_that_there_are_not() -> None:
    _, group = await after(
        {
            NODES: named("cart.py", kind=10**9),
            EDGES: {"edges": [edge("nobody.py", "cart.py"), edge("", "cart.py"), edge(" ", "")]},
        }
    )
    assert "nobody.py" in {one.name for one in group.entities}
    assert whole(group)


async def test_summaries_of_things_that_were_not_asked_about_are_passed_over() -> None:
    before, group = await after(
        {
            NODES: named("postgres"),
            EDGES: {"edges": []},
            SUMMARIES: {
                "summaries": [
                    {"name": "cart.py", "summary": "Wrong."},
                    {"name": "postgres", "summary": "S" * 9000},
                ]
            },
        }
    )
    summaries = {one.uuid: one.summary for one in group.entities}
    known = {one.uuid: one.summary for one in before.entities if one.name == "cart.py"}
    assert known.items() <= summaries.items()
    assert max(map(len, summaries.values())) <= 2000


async def test_names_that_no_fact_and_no_thing_should_have_are_left_out_and_counted() -> None:
    asks = LlmExtractor(
        Canned(
            says(
                {
                    NODES: named("user", "cart.py", "sqlite", "/tmp/x"),  # noqa: S108 - a name
                    EDGES: {
                        "edges": [
                            edge("user", "sqlite", fact="The user wants cart.py to use sqlite"),
                            edge("user", "sqlite", fact="The user likes it"),
                            edge("user", "line 12", fact="The user read line 12"),
                        ]
                    },
                }
            )
        ),
        ToyEmbedder(),
        prompts=fixed_prompt("Look."),
    )
    group = sample_turns.empty_group()
    (result,) = await sample_turns.take_in(asks, sample_turns.episodes()[:1], group, ToyEmbedder())
    names = {one.uuid: one.name for one in group.entities}
    assert sorted(names.values()) == ["cart.py", "sqlite"]
    assert [(names[f.source], f.text, names[f.target]) for f in group.facts] == [
        ("cart.py", "The user wants cart.py to use sqlite", "sqlite")
    ]
    assert result.discarded == {
        "generic_word": 1,
        "temporary_path": 1,
        "line_number": 1,
        "facts": 2,
    }


async def test_a_fact_that_lost_an_end_hangs_on_no_name_that_is_only_part_of_a_word() -> None:
    asks = LlmExtractor(
        Canned(
            says(
                {
                    NODES: named("go", "sqlite", "c"),
                    EDGES: {
                        "edges": [
                            edge("user", "sqlite", fact="The user says that sqlite is good"),
                            edge("user", "sqlite", fact="The user wants Go, not sqlite"),
                        ]
                    },
                }
            )
        ),
        ToyEmbedder(),
        prompts=fixed_prompt("Look."),
    )
    group = sample_turns.empty_group()
    (result,) = await sample_turns.take_in(asks, sample_turns.episodes()[:1], group, ToyEmbedder())
    names = {one.uuid: one.name for one in group.entities}
    assert [(names[f.source], f.text) for f in group.facts] == [
        ("go", "The user wants Go, not sqlite")
    ]
    assert result.discarded["facts"] == 1


@pytest.mark.parametrize(
    ("said", "dates"),
    [
        ({}, (builders.START, None)),
        ({"valid_at": "2025-03-01"}, ("2025-03-01", None)),
        ({"invalid_at": "2025-03-01"}, (None, "2025-03-01")),
        ({"valid_at": "2025-02-01", "invalid_at": "2025-03-01"}, ("2025-02-01", "2025-03-01")),
        ({"valid_at": "2026-03-01", "invalid_at": "2025-03-01"}, (None, "2025-03-01")),
        ({"valid_at": "2026-02-30"}, (builders.START, None)),
    ],
)
async def test_dates_of_a_fact(
    said: dict[str, str], dates: tuple[str | datetime | None, str | datetime | None]
) -> None:
    answers = {NODES: named("a.py", "b.py"), EDGES: {"edges": [edge(**said)]}}
    asks = LlmExtractor(Canned(says(answers)), ToyEmbedder(), prompts=fixed_prompt(None))
    group = sample_turns.empty_group()
    await sample_turns.take_in(asks, sample_turns.episodes()[:1], group, ToyEmbedder())
    (fact,) = group.facts
    assert (fact.valid_at, fact.invalid_at) == tuple(map(_moment, dates))


def _moment(said: str | datetime | None) -> datetime | None:
    return datetime.fromisoformat(said).replace(tzinfo=UTC) if isinstance(said, str) else said


async def test_without_instructions_every_name_stays_as_with_graphiti() -> None:
    asks = LlmExtractor(
        Canned(
            says({NODES: named("user", "line 12"), EDGES: {"edges": [edge("user", "line 12")]}})
        ),
        ToyEmbedder(),
        prompts=fixed_prompt(None),
    )
    group = sample_turns.empty_group()
    (result,) = await sample_turns.take_in(asks, sample_turns.episodes()[:1], group, ToyEmbedder())
    assert {one.name for one in group.entities} == {"user", "line 12"}
    assert result.discarded == {}


STRANGE = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("\x00\x01\x1b\u2028\ufeff\u200b\ud800\udfff\n\t\"'`\\{}"),
    ),
    max_size=60,
)
DATES = st.one_of(
    st.none(),
    STRANGE,
    st.sampled_from(
        [
            "0001-01-01T00:00:00+14:00",
            "9999-12-31T23:59:59-12:00",
            "2026-02-30",
            "2026-03-01",
            "2026-03-01T00:00:00",
            "20260301",
            "-2026-03-01",
            "2026-W09-1",
        ]
    ),
)
EDGE = st.builds(
    lambda ends, kind, fact, dates: edge(
        *ends, relation_type=kind, fact=fact, valid_at=dates[0], invalid_at=dates[1]
    ),
    st.tuples(STRANGE, STRANGE),
    STRANGE,
    STRANGE | st.just("x" * 40_000),
    st.tuples(DATES, DATES),
)
NUMBERS = st.lists(st.integers(-3, 40) | st.integers(), max_size=4)
TURN = st.fixed_dictionaries(
    {
        NODES: st.lists(STRANGE | st.just("x" * 1000), max_size=5).map(lambda names: named(*names)),
        EDGES: st.lists(EDGE, max_size=4).map(lambda edges: {"edges": edges}),
        DEDUPE: st.lists(
            st.fixed_dictionaries(
                {
                    "id": st.integers(-2, 9),
                    "name": STRANGE,
                    "duplicate_candidate_id": st.integers(-2, 30),
                }
            ),
            max_size=6,
        ).map(lambda found: {"entity_resolutions": found}),
        RESOLVE: st.fixed_dictionaries({"duplicate_facts": NUMBERS, "contradicted_facts": NUMBERS}),
    }
)


@settings(max_examples=scaled(12), suppress_health_check=list(HealthCheck))
@given(answers=st.lists(TURN, min_size=2, max_size=4), instructed=st.booleans())
async def test_no_answer_fails_a_commit(
    store: GraphStore, tmp_path: Path, answers: list[Answers], *, instructed: bool
) -> None:
    turns = _turns_of(GroupId(f"shop{next(_NUMBERS)}"), len(answers))
    shown = {turn.parts[0]: said for turn, said in zip(turns, answers, strict=True)}

    def say(question: ChatRequest) -> str | None:
        text = question.messages[-1].text.split("CURRENT")[-1]
        said = next((one for told, one in shown.items() if told in text), answers[0])
        return json.dumps(said[question.prompt_name]) if question.prompt_name in said else None

    asks = LlmExtractor(
        Canned(say), ToyEmbedder(), prompts=fixed_prompt("Look." if instructed else None)
    )
    run = IngestRun("run-1", "here:1", lambda: sample_turns.NOW, timedelta(seconds=60), 3)
    group = turns[0].turn.group_id
    pipeline = TurnPipeline(store, asks, ToyEmbedder(), Quarantine(tmp_path, group), run)
    done = await pipeline.ingest(group, turns, {one.turn_id: () for one in turns}, lambda _: None)
    assert done.quarantined == 0
    held = await store.load(group)
    assert len(held.receipts) == len(turns)
    assert whole(MirrorGroup(held))


_NUMBERS = count()


def _turns_of(group: GroupId, size: int) -> list[Episode]:
    """Return turns of a group of their own: the graph is the same for all examples."""
    return [
        builders.episode(
            f"p{place}",
            group_id=group,
            ordinal=place,
            started_at=builders.START + timedelta(hours=place),
            user_text=f"question {place} about `a.py`",
        )
        for place in range(size)
    ]


def test_what_is_mended_is_no_more_than_must_be() -> None:
    said = edge("a\n b", "c\x00", fact="one\ntwo", relation_type=" ", valid_at="2026-03-01")
    assert sanitized({"edges": [said]}) == {
        "edges": [
            edge("a b", "c", fact="one two", relation_type="RELATES_TO", valid_at="2026-03-01")
        ]
    }
    assert sanitized({"summary": "one\ntwo\u200b"}) == {"summary": "one\ntwo"}
    assert sanitized({"valid_at": "0001-01-01T00:00:00+14:00"}) == {"valid_at": None}


@pytest.mark.parametrize("value", [1, 2.5, None, True, [], {}])
def test_what_is_no_text_stays(value: object) -> None:
    assert sanitized({"name": value}) == {"name": value}
