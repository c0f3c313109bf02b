"""Responses that match their schema but make no sense: none may damage a graph or fail a commit."""

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
from tests.extraction.canned_model import CannedModel
from tests.extraction.fixed_prompt import fixed_prompt
from tests.scale import scaled
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base.model import Episode, GroupId
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.port import DiscardReason
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.graph.port import GraphStore
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.ingestion.quarantine import Quarantine
from turnetl.ingestion.turn_pipeline import TurnPipeline
from turnetl.lake import LocalFiles
from turnetl.llm.chat import ChatRequest
from turnetl.llm.retry import sanitized

NODES, EDGES = "extract_nodes.extract_message", "extract_edges.edge"
DEDUPE, RESOLVE = "dedupe_nodes.nodes", "dedupe_edges.resolve_edge"
Responses = Mapping[str, Any]
"""By prompt."""


def rule(responses: Responses) -> Callable[[ChatRequest], str | None]:
    return lambda r: json.dumps(responses[r.prompt_name]) if r.prompt_name in responses else None


def edge(source: str = "a.py", target: str = "b.py", **fields: Any) -> dict[str, Any]:
    endpoints = {"source_entity_name": source, "target_entity_name": target}
    details = {"relation_type": "USES", "fact": f"{source} uses {target}", "episode_indices": [0]}
    return {**endpoints, **details, **fields}


def nodes(*names: str, kind: int = 0) -> dict[str, Any]:
    return {
        "extracted_entities": [
            {"name": name, "entity_type_id": kind, "episode_indices": [7, -1]} for name in names
        ]
    }


async def sample_group() -> MirrorGroup:
    group = sample_turns.empty_group()
    extractor = LlmExtractor(CannedModel(), ToyEmbedder(), prompts=fixed_prompt(None))
    await sample_turns.ingest(extractor, sample_turns.episodes()[:4], group, ToyEmbedder())
    return group


async def ingest_with(responses: Responses) -> tuple[MirrorGroup, MirrorGroup]:
    """Return the group before and after a turn with these responses."""
    group, before = await sample_group(), await sample_group()
    extractor = LlmExtractor(
        CannedModel(rule(responses)), ToyEmbedder(), prompts=fixed_prompt("Look.")
    )
    await sample_turns.ingest(extractor, sample_turns.episodes()[4:5], group, ToyEmbedder())
    return before, group


def is_consistent(group: MirrorGroup) -> bool:
    """Whether every fact belongs to the group and connects entities that exist in it."""
    return all(
        group.entity(fact.source) and group.entity(fact.target) and fact.group_id == group.group_id
        for fact in group.facts
    )


async def test_candidates_that_were_not_offered_are_ignored() -> None:
    resolutions = [
        {"id": 0, "name": "cart.py", "duplicate_candidate_id": 99},
        {"id": 0, "name": "cart.py", "duplicate_candidate_id": 0},
        {"id": 41, "name": "x", "duplicate_candidate_id": 0},
        {"id": -1, "name": "y", "duplicate_candidate_id": -7},
    ]
    before, group = await ingest_with(
        {
            NODES: nodes("cart", "lite"),
            EDGES: {"edges": [edge("cart", "lite")]},
            DEDUPE: {"entity_resolutions": resolutions},
        }
    )
    assert {entity.name for entity in group.entities} == {
        *(entity.name for entity in before.entities),
        "cart",
        "lite",
    }
    assert is_consistent(group)


async def test_facts_that_were_not_offered_are_neither_duplicates_nor_invalidated() -> None:
    unknown = {"duplicate_facts": [-1, 500, 10**30], "contradicted_facts": [999, -5, 10**40]}
    before, group = await ingest_with(
        {
            NODES: nodes("cart.py", "sqlite"),
            EDGES: {"edges": [edge("cart.py", "sqlite", fact="cart.py reads sqlite slowly")]},
            RESOLVE: unknown,
        }
    )
    assert "cart.py reads sqlite slowly" in {fact.text for fact in group.facts}
    for fact in before.facts:
        assert group.fact(fact.uuid) == fact


async def test_unknown_entities_of_facts_are_created_and_unknown_types_ignored() -> None:
    _, group = await ingest_with(
        {
            NODES: nodes("cart.py", kind=10**9),
            EDGES: {"edges": [edge("nobody.py", "cart.py"), edge("", "cart.py"), edge(" ", "")]},
        }
    )
    assert "nobody.py" in {entity.name for entity in group.entities}
    assert is_consistent(group)


async def test_names_on_the_stoplist_are_discarded_and_counted() -> None:
    extractor = LlmExtractor(
        CannedModel(
            rule(
                {
                    NODES: nodes("user", "cart.py", "sqlite", "/tmp/x"),  # noqa: S108 - a name
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
    (result,) = await sample_turns.ingest(
        extractor, sample_turns.episodes()[:1], group, ToyEmbedder()
    )
    names = {entity.uuid: entity.name for entity in group.entities}
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


async def test_a_fact_is_not_reattached_to_a_name_that_is_only_part_of_a_word() -> None:
    extractor = LlmExtractor(
        CannedModel(
            rule(
                {
                    NODES: nodes("go", "sqlite", "c"),
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
    (result,) = await sample_turns.ingest(
        extractor, sample_turns.episodes()[:1], group, ToyEmbedder()
    )
    names = {entity.uuid: entity.name for entity in group.entities}
    assert [(names[f.source], f.text) for f in group.facts] == [
        ("go", "The user wants Go, not sqlite")
    ]
    assert result.discarded[DiscardReason.FACTS] == 1


@pytest.mark.parametrize(
    ("fields", "dates"),
    [
        ({}, (builders.START, None)),
        ({"valid_at": "2025-03-01"}, ("2025-03-01", None)),
        ({"invalid_at": "2025-03-01"}, (None, "2025-03-01")),
        ({"valid_at": "2025-02-01", "invalid_at": "2025-03-01"}, ("2025-02-01", "2025-03-01")),
        ({"valid_at": "2026-03-01", "invalid_at": "2025-03-01"}, (None, "2025-03-01")),
        ({"valid_at": "2026-02-30"}, (builders.START, None)),
    ],
)
async def test_invalid_dates_are_dropped_and_a_missing_start_is_that_of_the_turn(
    fields: dict[str, str], dates: tuple[str | datetime | None, str | datetime | None]
) -> None:
    responses = {NODES: nodes("a.py", "b.py"), EDGES: {"edges": [edge(**fields)]}}
    extractor = LlmExtractor(
        CannedModel(rule(responses)), ToyEmbedder(), prompts=fixed_prompt(None)
    )
    group = sample_turns.empty_group()
    await sample_turns.ingest(extractor, sample_turns.episodes()[:1], group, ToyEmbedder())
    (fact,) = group.facts
    assert (fact.valid_at, fact.invalid_at) == tuple(map(_as_datetime, dates))


def _as_datetime(date: str | datetime | None) -> datetime | None:
    return datetime.fromisoformat(date).replace(tzinfo=UTC) if isinstance(date, str) else date


async def test_without_instructions_every_name_is_kept_as_by_graphiti() -> None:
    extractor = LlmExtractor(
        CannedModel(
            rule({NODES: nodes("user", "line 12"), EDGES: {"edges": [edge("user", "line 12")]}})
        ),
        ToyEmbedder(),
        prompts=fixed_prompt(None),
    )
    group = sample_turns.empty_group()
    (result,) = await sample_turns.ingest(
        extractor, sample_turns.episodes()[:1], group, ToyEmbedder()
    )
    assert {entity.name for entity in group.entities} == {"user", "line 12"}
    assert result.discarded == {}


ANY_TEXT = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("\x00\x01\x1b\u2028\ufeff\u200b\ud800\udfff\n\t\"'`\\{}"),
    ),
    max_size=60,
)
DATES = st.one_of(
    st.none(),
    ANY_TEXT,
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
    lambda endpoints, relation, fact, dates: edge(
        *endpoints, relation_type=relation, fact=fact, valid_at=dates[0], invalid_at=dates[1]
    ),
    st.tuples(ANY_TEXT, ANY_TEXT),
    ANY_TEXT,
    ANY_TEXT | st.just("x" * 40_000),
    st.tuples(DATES, DATES),
)
NUMBERS = st.lists(st.integers(-3, 40) | st.integers(), max_size=4)
TURN = st.fixed_dictionaries(
    {
        NODES: st.lists(ANY_TEXT | st.just("x" * 1000), max_size=5).map(
            lambda names: nodes(*names)
        ),
        EDGES: st.lists(EDGE, max_size=4).map(lambda edges: {"edges": edges}),
        DEDUPE: st.lists(
            st.fixed_dictionaries(
                {
                    "id": st.integers(-2, 9),
                    "name": ANY_TEXT,
                    "duplicate_candidate_id": st.integers(-2, 30),
                }
            ),
            max_size=6,
        ).map(lambda resolutions: {"entity_resolutions": resolutions}),
        RESOLVE: st.fixed_dictionaries({"duplicate_facts": NUMBERS, "contradicted_facts": NUMBERS}),
    }
)


@pytest.mark.full
@settings(max_examples=scaled(12), suppress_health_check=list(HealthCheck))
@given(responses=st.lists(TURN, min_size=2, max_size=4), instructed=st.booleans())
async def test_no_response_fails_a_commit(
    store: GraphStore, tmp_path: Path, responses: list[Responses], *, instructed: bool
) -> None:
    turns = _turns_of(GroupId(f"shop{next(_NUMBERS)}"), len(responses))
    by_text = {turn.chunks[0]: response for turn, response in zip(turns, responses, strict=True)}

    def respond(request: ChatRequest) -> str | None:
        prompt = request.messages[-1].text.split("CURRENT")[-1]
        chosen = next(
            (response for text, response in by_text.items() if text in prompt), responses[0]
        )
        return rule(chosen)(request)

    extractor = LlmExtractor(
        CannedModel(respond), ToyEmbedder(), prompts=fixed_prompt("Look." if instructed else None)
    )
    run = IngestRun("run-1", "here:1", lambda: sample_turns.NOW, timedelta(seconds=60), 3)
    group = turns[0].turn.group_id
    pipeline = TurnPipeline(
        store, extractor, ToyEmbedder(), Quarantine(LocalFiles(tmp_path), group), run
    )
    done = await pipeline.ingest(group, turns, {turn.turn_id: () for turn in turns}, lambda _: None)
    assert done.quarantined == 0
    contents = await store.load(group)
    assert len(contents.receipts) == len(turns)
    assert is_consistent(MirrorGroup(contents))


_NUMBERS = count()


def _turns_of(group: GroupId, size: int) -> list[Episode]:
    """Return turns of a new group, because all examples share one graph."""
    return [
        builders.episode(
            f"p{index}",
            group_id=group,
            ordinal=index,
            started_at=builders.START + timedelta(hours=index),
            user_text=f"question {index} about `a.py`",
        )
        for index in range(size)
    ]


def test_only_invalid_characters_and_values_are_sanitized() -> None:
    invalid = edge("a\n b", "c\x00", fact="one\ntwo", relation_type=" ", valid_at="2026-03-01")
    assert sanitized({"edges": [invalid]}) == {
        "edges": [
            edge("a b", "c", fact="one two", relation_type="RELATES_TO", valid_at="2026-03-01")
        ]
    }
    assert sanitized({"summary": "one\ntwo\u200b"}) == {"summary": "one\ntwo"}
    assert sanitized({"valid_at": "0001-01-01T00:00:00+14:00"}) == {"valid_at": None}


@pytest.mark.parametrize("value", [1, 2.5, None, True, [], {}])
def test_values_that_are_not_text_are_unchanged(value: object) -> None:
    assert sanitized({"name": value}) == {"name": value}
