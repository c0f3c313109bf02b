"""The hybrid extractor merges structure and a model without duplicates."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from typing_extensions import override

from tests import builders
from tests.builders import GROUP, START
from tests.extraction import sample_turns
from tests.extraction.canned_model import CannedModel
from tests.extraction.fixed_prompt import fixed_prompt
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base.ids import RecipePart, RecipeParts, recipe_digest
from turnetl.base.model import Entity, Episode, Fact, GroupId, TurnId, Usage
from turnetl.extraction.hybrid import HybridExtractor, map_to_known, merge
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.port import DiscardReason, Extractor, Resolved
from turnetl.extraction.structural import StructuralExtractor
from turnetl.extraction.structural.findings import TurnFindings
from turnetl.graph.mirror.group import GroupView
from turnetl.llm.chat import ChatModel

TURN = TurnId("t")


class FixedExtractor(Extractor[TurnFindings]):
    """An extractor with a fixed result."""

    def __init__(self, resolved: Resolved, part: str = "fixed", value: str = "1") -> None:
        self._recipe = {part: RecipePart(value)}
        self._resolved = resolved

    name = "fixed"
    model = None

    def recipe_parts(self, group: GroupId, kind: str = "") -> RecipeParts:  # noqa: ARG002 - the same for all
        return self._recipe

    @override
    async def extract(
        self, episode: Episode, context: Sequence[Episode], known: Sequence[str] | None = None
    ) -> TurnFindings:
        return TurnFindings((), ())

    @override
    async def resolve(
        self, episode: Episode, extracted: TurnFindings, group: GroupView, *, now: datetime
    ) -> Resolved:
        return self._resolved

    @override
    async def close(self) -> None:
        """Do nothing: there are no resources."""


def entity(uuid: str, name: str, *labels: str, **fields: Any) -> Entity:
    return Entity(
        uuid=uuid,
        group_id=GROUP,
        name=name,
        labels=labels,
        summary=fields.pop("summary", ""),
        created_at=START,
        **fields,
    )


def fact(uuid: str, source: str, text: str, target: str, **fields: Any) -> Fact:
    return Fact(
        uuid=uuid,
        group_id=GROUP,
        source=source,
        target=target,
        relation=fields.pop("relation", "STATES"),
        text=text,
        turns=fields.pop("turns", (TURN,)),
        created_at=START,
        valid_at=START,
        **fields,
    )


def result(*items: Entity | Fact, mentions: Sequence[str] = ()) -> Resolved:
    entities = tuple(item for item in items if isinstance(item, Entity))
    return Resolved(
        entities=entities,
        facts=tuple(item for item in items if isinstance(item, Fact)),
        mentions=tuple(sorted({*mentions, *(entity.uuid for entity in entities)})),
        usage=Usage(calls=1, prompt_tokens=2, completion_tokens=3),
    )


STRUCTURE = result(
    entity("s1", "src/cart.py", "File"),
    entity("s2", "KeyError", "Error"),
    fact("f1", "s1", "src/cart.py was edited.", "s2"),
)


def test_an_entity_of_the_same_name_is_the_structural_one() -> None:
    model = result(
        entity("m1", "SRC/cart.py ", "File", summary="The cart."),
        entity("m2", "empty cart", "Concept"),
        fact("f2", "m1", "src/cart.py checks for an empty cart.", "m2"),
    )
    both = merge(STRUCTURE, model, sample_turns.empty_group())
    assert [entity.uuid for entity in both.entities] == ["s1", "s2", "m2"]
    assert both.entities[0].summary == "The cart."
    assert [(fact.source, fact.target) for fact in both.facts] == [("s1", "s2"), ("s1", "m2")]
    assert both.mentions == ("m2", "s1", "s2")


def test_an_entity_is_mentioned_in_the_parts_in_which_either_finds_it() -> None:
    structure = replace(STRUCTURE, mentioned_in={"s2": (2,)})
    model = replace(
        result(entity("m1", "src/cart.py", "File"), entity("m2", "KeyError", "Error")),
        mentioned_in={"m1": (1,), "m2": (0, 2)},
    )
    both = merge(structure, model, sample_turns.empty_group())
    assert both.mentioned_in == {"s1": (1,), "s2": (0, 2)}


def test_the_same_name_with_another_label_is_another_entity() -> None:
    model = result(entity("m1", "KeyError", "Package"), entity("m2", "src/cart.py"))
    both = merge(STRUCTURE, model, sample_turns.empty_group())
    assert [entity.uuid for entity in both.entities] == ["s1", "s2", "m1"]


def test_a_fact_between_two_names_of_one_entity_is_dropped() -> None:
    model = result(
        entity("m1", "src/cart.py", "File"),
        entity("m2", "Src/Cart.py", "File"),
        fact("f2", "m1", "It is itself.", "m2"),
    )
    assert [fact.uuid for fact in merge(STRUCTURE, model, sample_turns.empty_group()).facts] == [
        "f1"
    ]


def test_the_same_sentence_about_the_same_entities_is_one_fact() -> None:
    model = result(
        entity("m1", "src/cart.py"),
        entity("m2", "KeyError"),
        fact("f2", "m1", "src/cart.py  was Edited.", "m2"),
    )
    assert [fact.uuid for fact in merge(STRUCTURE, model, sample_turns.empty_group()).facts] == [
        "f1"
    ]


@pytest.mark.parametrize(
    ("text", "is_new"),
    [
        ("Edited was the `src/cart.py`", False),
        ("src/cart.py was not edited.", True),
        ("src/cart.py was edited by the fix for orders.", True),
        ("src/cart.py was edited again.", False),
    ],
)
def test_a_sentence_of_the_model_that_says_no_more_is_dropped_and_counted(
    text: str, *, is_new: bool
) -> None:
    model = result(
        entity("m1", "KeyError"),
        entity("m2", "src/cart.py"),
        fact("f2", "m1", text, "m2", relation="CAUSED_BY"),
    )
    both = merge(STRUCTURE, model, sample_turns.empty_group())
    assert ("f2" in {fact.uuid for fact in both.facts}) is is_new
    assert both.discarded == ({} if is_new else {DiscardReason.KNOWN: 1})


def test_a_fact_with_the_entities_and_the_relation_of_a_rule_repeats_it_in_any_words() -> None:
    known = result(
        entity("s1", "src/cart.py", "File"),
        entity("s2", "total", "Symbol"),
        fact("f1", "s1", "`cart.py`: `total` sums cents", "s2", relation="CHANGED"),
    )
    model = result(
        entity("m1", "cart.py", "File"),
        entity("m2", "total"),
        fact("f2", "m1", "The sum is now an integer", "m2", relation="CHANGED"),
        fact("f3", "m1", "The sum was not rounded", "m2", relation="CHANGED"),
        fact("f4", "m1", "It counts money in an integer", "m2", relation="ADDED"),
    )
    both = merge(known, model, sample_turns.empty_group())
    assert [fact.uuid for fact in both.facts] == ["f1", "f3", "f4"]
    assert both.discarded == {DiscardReason.KNOWN: 1}


def test_a_file_without_folders_is_the_one_that_structure_gives_with_folders() -> None:
    model = result(
        entity("m1", "cart.py", "File"),
        entity("m2", "/home/dev/shop/src/cart.py"),
        entity("m3", "other_cart.py", "File"),
        fact("f2", "m1", "cart.py is slow.", "m3"),
    )
    both = merge(STRUCTURE, model, sample_turns.empty_group())
    assert [entity.uuid for entity in both.entities] == ["s1", "s2", "m3"]
    assert [(fact.source, fact.target) for fact in both.facts] == [("s1", "s2"), ("s1", "m3")]


def test_a_base_name_of_two_files_is_an_entity_of_its_own() -> None:
    structure = result(entity("s1", "src/cart.py", "File"), entity("s2", "tests/cart.py", "File"))
    both = merge(structure, result(entity("m1", "cart.py", "File")), sample_turns.empty_group())
    assert [entity.uuid for entity in both.entities] == ["s1", "s2", "m1"]


def test_discarded_names_of_both_are_counted() -> None:
    one, other = (
        replace(result(), discarded={DiscardReason.UUID: 1}),
        replace(result(), discarded={DiscardReason.UUID: 2}),
    )
    assert merge(one, other, sample_turns.empty_group()).discarded == {"uuid": 3}


def test_the_usage_of_both_is_counted() -> None:
    both = merge(STRUCTURE, result(), sample_turns.empty_group())
    assert both.usage == Usage(calls=2, prompt_tokens=4, completion_tokens=6)


async def test_an_unchanged_entity_of_the_group_is_matched() -> None:
    group = sample_turns.empty_group()
    turn = builders.episode("p0")
    await sample_turns.apply(
        group, turn, result(entity("s1", "src/cart.py", "File")), ToyEmbedder()
    )
    model = result(entity("m1", "src/cart.py", "File"), fact("f2", "m1", "It grows.", "m9"))
    both = merge(result(mentions=["s1"]), model, group)
    assert both.entities == ()
    assert [(fact.source, fact.target) for fact in both.facts] == [("s1", "m9")]
    assert both.mentions == ("s1",)


async def test_a_stored_fact_that_both_change_keeps_its_entities_and_all_its_turns() -> None:
    group = sample_turns.empty_group()
    stored = fact("f0", "m1", "It was.", "m2", turns=(TurnId("a"),))
    await sample_turns.apply(group, builders.episode("p0"), result(stored), ToyEmbedder())
    first = result(fact("f0", "m1", "It was.", "m2", turns=(TurnId("a"),), invalid_at=START))
    second = result(
        entity("m1", "KeyError"), fact("f0", "m1", "It was.", "m2", turns=(TurnId("a"), TURN))
    )
    both = merge(result(*STRUCTURE.entities, *first.facts), second, group)
    assert [(fact.source, fact.turns, fact.invalid_at) for fact in both.facts] == [
        ("m1", ("a", "t"), START)
    ]


async def test_an_entity_that_the_model_named_first_is_not_duplicated_by_structure() -> None:
    group = sample_turns.empty_group()
    named = result(entity("m1", "compose.yaml", summary="Services."), entity("m2", "redis", "Tool"))
    await sample_turns.apply(group, builders.episode("p0"), named, ToyEmbedder())
    structure = result(
        entity("s1", "compose.yaml", "File"),
        entity("s2", "redis", "Package"),
        entity("s3", "Compose.yaml", "Concept"),
        fact("f1", "s1", "compose.yaml was edited.", "s2"),
    )
    known = map_to_known(structure, group)
    one, other, third = known.entities
    assert (one.uuid, one.labels, one.summary) == ("m1", ("File",), "Services.")
    assert one.embedding is not None
    assert (other.uuid, third.uuid) == ("s2", "s3")
    assert [(fact.source, fact.target) for fact in known.facts] == [("m1", "s2")]
    assert known.mentions == ("m1", "s2", "s3")


async def test_an_entity_with_two_keys_is_mentioned_in_the_chunks_of_both() -> None:
    group = sample_turns.empty_group()
    await sample_turns.apply(
        group, builders.episode("p0"), result(entity("m1", "compose.yaml", "File")), ToyEmbedder()
    )
    two = result(entity("s1", "compose.yaml", "File"))
    two = replace(two, mentions=("m1", "s1"), mentioned_in={"m1": (0, 2), "s1": (1,)})
    assert map_to_known(two, group).mentioned_in == {"m1": (0, 1, 2)}


def test_new_entities_come_before_changed_ones() -> None:
    both = merge(STRUCTURE, result(entity("m1", "new", "Concept")), sample_turns.empty_group())
    assert [entity.uuid for entity in both.entities] == ["s1", "s2", "m1"]


async def test_the_model_is_shown_what_the_rules_state_beside_the_turn_and_only_there() -> None:
    model = CannedModel()
    llm = LlmExtractor(model, ToyEmbedder(), prompts=fixed_prompt("Look closely."))
    turn = builders.episode(
        "p0",
        tool_calls=(
            builders.tool("Bash", "pytest -q", "E   KeyError: '</KNOWN_FACTS>'", is_error=True),
        ),
        assistant_text="`cart.py` uses `sqlite`.",
    )
    hybrid = HybridExtractor(StructuralExtractor(), llm)
    findings, extracted = await hybrid.extract(turn, [])
    await extracted.chunks[0].facts
    assert findings.facts
    [request] = model.prompts("extract_edges.edge")
    system, message = request.messages
    section = message.text.partition("<KNOWN_FACTS>\n")[2].partition("\n</KNOWN_FACTS>")[0]
    assert section.count("\n- ") == len(findings.facts) - 1
    assert "KeyError" in section
    assert "KNOWN_FACTS are stored already" in system.text
    assert "<KNOWN_FACTS>" not in system.text
    assert all("KNOWN_FACTS" not in one.text for one in model.requests[0].messages)
    await hybrid.close()


async def test_a_turn_is_extracted_by_both(model: ChatModel, embedder: ToyEmbedder) -> None:
    llm = LlmExtractor(model, embedder, prompts=fixed_prompt(None))
    structure = result(entity("s1", "cart.py", "File"))
    both = HybridExtractor(FixedExtractor(structure), llm)
    group = sample_turns.empty_group()
    await sample_turns.ingest(both, sample_turns.episodes()[:3], group, embedder)
    names = [entity.name for entity in group.entities]
    assert names.count("cart.py") == 1
    assert {"sqlite", "pricing.py", "KeyError"} <= set(names)
    endpoints = {endpoint for fact in group.facts for endpoint in (fact.source, fact.target)}
    assert "s1" in endpoints
    assert all(group.entity(endpoint) for endpoint in endpoints)


def test_the_recipe_depends_on_both() -> None:
    empty = result()
    recipes = {
        recipe_digest(
            HybridExtractor(
                FixedExtractor(empty, "one", one), FixedExtractor(empty, "other", other)
            ).recipe_parts(GROUP)
        )
        for one, other in (("a", "b"), ("b", "a"), ("a", "a"))
    }
    assert len(recipes) == 3
