"""Structure and a model side by side: nothing is named twice."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from typing_extensions import override

from tests import builders
from tests.builders import GROUP, START
from tests.extraction import sample_turns
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.extraction.hybrid import EntityNameIndex, HybridExtractor, merge
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.port import Extractor, Resolved
from turnetl.extraction.prompt_config import fixed_prompt
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.llm.chat import ChatModel
from turnetl.model import Entity, Episode, Fact, GroupId, TurnId, Usage

TURN = TurnId("t")


class Says(Extractor[None]):
    """An extractor that always says the same."""

    def __init__(self, resolved: Resolved, recipe: str = "says") -> None:
        self._recipe = recipe
        self._resolved = resolved

    def recipe(self, group: GroupId, kind: str = "") -> str:  # noqa: ARG002 - for all the same
        return self._recipe

    @override
    async def extract(self, episode: Episode, context: Sequence[Episode]) -> None:
        """Say nothing yet."""

    @override
    async def resolve(
        self, episode: Episode, extracted: None, group: MirrorGroup, *, now: datetime
    ) -> Resolved:
        return self._resolved

    @override
    async def close(self) -> None:
        """Nothing was opened."""


def thing(uuid: str, name: str, *labels: str, **fields: Any) -> Entity:
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
        name="SAYS",
        text=text,
        turns=fields.pop("turns", (TURN,)),
        created_at=START,
        valid_at=START,
        **fields,
    )


def says(*things: Entity | Fact, mentions: Sequence[str] = ()) -> Resolved:
    entities = tuple(one for one in things if isinstance(one, Entity))
    return Resolved(
        entities=entities,
        facts=tuple(one for one in things if isinstance(one, Fact)),
        mentions=tuple(sorted({*mentions, *(one.uuid for one in entities)})),
        usage=Usage(calls=1, prompt_tokens=2, completion_tokens=3),
    )


STRUCTURE = says(
    thing("s1", "src/cart.py", "File"),
    thing("s2", "KeyError", "Error"),
    fact("f1", "s1", "src/cart.py was edited.", "s2"),
)


def test_a_thing_of_the_same_name_is_the_structural_one() -> None:
    model = says(
        thing("m1", "SRC/cart.py ", "File", summary="The cart."),
        thing("m2", "empty cart", "Concept"),
        fact("f2", "m1", "src/cart.py checks for an empty cart.", "m2"),
    )
    both = merge(STRUCTURE, model, sample_turns.empty_group())
    assert [entity.uuid for entity in both.entities] == ["s1", "s2", "m2"]
    assert both.entities[0].summary == "The cart."
    assert [(one.source, one.target) for one in both.facts] == [("s1", "s2"), ("s1", "m2")]
    assert both.mentions == ("m2", "s1", "s2")


def test_the_parts_that_speak_of_a_thing_are_those_in_which_either_finds_it() -> None:
    structure = replace(STRUCTURE, mentioned_in={"s2": (2,)})
    model = replace(
        says(thing("m1", "src/cart.py", "File"), thing("m2", "KeyError", "Error")),
        mentioned_in={"m1": (1,), "m2": (0, 2)},
    )
    both = merge(structure, model, sample_turns.empty_group())
    assert both.mentioned_in == {"s1": (1,), "s2": (0, 2)}


def test_another_kind_of_the_same_name_is_another_thing() -> None:
    model = says(thing("m1", "KeyError", "Package"), thing("m2", "src/cart.py"))
    both = merge(STRUCTURE, model, sample_turns.empty_group())
    assert [entity.uuid for entity in both.entities] == ["s1", "s2", "m1"]


def test_a_fact_between_names_of_one_thing_is_gone() -> None:
    model = says(
        thing("m1", "src/cart.py", "File"),
        thing("m2", "Src/Cart.py", "File"),
        fact("f2", "m1", "It is itself.", "m2"),
    )
    assert [one.uuid for one in merge(STRUCTURE, model, sample_turns.empty_group()).facts] == ["f1"]


def test_the_same_sentence_about_the_same_things_is_said_once() -> None:
    model = says(
        thing("m1", "src/cart.py"),
        thing("m2", "KeyError"),
        fact("f2", "m1", "src/cart.py  was Edited.", "m2"),
    )
    assert [one.uuid for one in merge(STRUCTURE, model, sample_turns.empty_group()).facts] == ["f1"]


@pytest.mark.parametrize(
    ("said", "is_new"),
    [
        ("Edited was the `src/cart.py`", False),
        ("src/cart.py was not edited.", True),
        ("src/cart.py was edited by the fix for orders.", True),
    ],
)
def test_a_sentence_that_says_the_same_in_other_order_is_said_once(
    said: str, *, is_new: bool
) -> None:
    model = says(thing("m1", "KeyError"), thing("m2", "src/cart.py"), fact("f2", "m1", said, "m2"))
    both = merge(STRUCTURE, model, sample_turns.empty_group())
    assert ("f2" in {one.uuid for one in both.facts}) is is_new


def test_a_file_by_its_last_name_is_the_one_that_structure_gives_whole() -> None:
    model = says(
        thing("m1", "cart.py", "File"),
        thing("m2", "/home/dev/shop/src/cart.py"),
        thing("m3", "other_cart.py", "File"),
        fact("f2", "m1", "cart.py is slow.", "m3"),
    )
    both = merge(STRUCTURE, model, sample_turns.empty_group())
    assert [entity.uuid for entity in both.entities] == ["s1", "s2", "m3"]
    assert [(one.source, one.target) for one in both.facts] == [("s1", "s2"), ("s1", "m3")]


def test_a_last_name_that_two_files_have_is_a_thing_of_its_own() -> None:
    structure = says(thing("s1", "src/cart.py", "File"), thing("s2", "tests/cart.py", "File"))
    both = merge(structure, says(thing("m1", "cart.py", "File")), sample_turns.empty_group())
    assert [entity.uuid for entity in both.entities] == ["s1", "s2", "m1"]


def test_what_either_left_out_is_counted() -> None:
    one, other = replace(says(), discarded={"uuid": 1}), replace(says(), discarded={"uuid": 2})
    assert merge(one, other, sample_turns.empty_group()).discarded == {"uuid": 3}


def test_tokens_of_both_are_counted() -> None:
    both = merge(STRUCTURE, says(), sample_turns.empty_group())
    assert both.usage == Usage(calls=2, prompt_tokens=4, completion_tokens=6)


async def test_a_thing_of_the_group_is_known_though_it_did_not_change() -> None:
    group = sample_turns.empty_group()
    turn = builders.episode("p0")
    await sample_turns.apply(group, turn, says(thing("s1", "src/cart.py", "File")), ToyEmbedder())
    model = says(thing("m1", "src/cart.py", "File"), fact("f2", "m1", "It grows.", "m9"))
    both = merge(says(mentions=["s1"]), model, group)
    assert both.entities == ()
    assert [(one.source, one.target) for one in both.facts] == [("s1", "m9")]
    assert both.mentions == ("s1",)


async def test_a_stored_fact_that_both_change_keeps_its_ends_and_all_its_turns() -> None:
    group = sample_turns.empty_group()
    stored = fact("f0", "m1", "It was.", "m2", turns=(TurnId("a"),))
    await sample_turns.apply(group, builders.episode("p0"), says(stored), ToyEmbedder())
    first = says(fact("f0", "m1", "It was.", "m2", turns=(TurnId("a"),), invalid_at=START))
    second = says(
        thing("m1", "KeyError"), fact("f0", "m1", "It was.", "m2", turns=(TurnId("a"), TURN))
    )
    both = merge(says(*STRUCTURE.entities, *first.facts), second, group)
    assert [(one.source, one.turns, one.invalid_at) for one in both.facts] == [
        ("m1", ("a", "t"), START)
    ]


async def test_what_the_model_named_first_stays_one_thing_when_structure_names_it() -> None:
    group = sample_turns.empty_group()
    named = says(thing("m1", "compose.yaml", summary="Services."), thing("m2", "redis", "Tool"))
    await sample_turns.apply(group, builders.episode("p0"), named, ToyEmbedder())
    structure = says(
        thing("s1", "compose.yaml", "File"),
        thing("s2", "redis", "Package"),
        thing("s3", "Compose.yaml", "Concept"),
        fact("f1", "s1", "compose.yaml was edited.", "s2"),
    )
    known = EntityNameIndex(group).map_to_known(structure)
    one, other, third = known.entities
    assert (one.uuid, one.labels, one.summary) == ("m1", ("File",), "Services.")
    assert one.embedding is not None
    assert (other.uuid, third.uuid) == ("s2", "s3")
    assert [(said.source, said.target) for said in known.facts] == [("m1", "s2")]
    assert known.mentions == ("m1", "s2", "s3")


async def test_a_thing_under_two_keys_is_said_in_the_parts_of_both() -> None:
    group = sample_turns.empty_group()
    await sample_turns.apply(
        group, builders.episode("p0"), says(thing("m1", "compose.yaml", "File")), ToyEmbedder()
    )
    two = says(thing("s1", "compose.yaml", "File"))
    two = replace(two, mentions=("m1", "s1"), mentioned_in={"m1": (0, 2), "s1": (1,)})
    assert EntityNameIndex(group).map_to_known(two).mentioned_in == {"m1": (0, 1, 2)}


def test_new_things_stand_before_changed_ones() -> None:
    both = merge(STRUCTURE, says(thing("m1", "new", "Concept")), sample_turns.empty_group())
    assert [entity.uuid for entity in both.entities] == ["s1", "s2", "m1"]


async def test_a_turn_goes_through_both(model: ChatModel, embedder: ToyEmbedder) -> None:
    asks = LlmExtractor(model, embedder, prompts=fixed_prompt(None))
    structure = says(thing("s1", "cart.py", "File"))
    both = HybridExtractor(Says(structure), asks)
    group = sample_turns.empty_group()
    await sample_turns.take_in(both, sample_turns.episodes()[:3], group, embedder)
    named = [entity.name for entity in group.entities]
    assert named.count("cart.py") == 1
    assert {"sqlite", "pricing.py", "KeyError"} <= set(named)
    ends = {end for one in group.facts for end in (one.source, one.target)}
    assert "s1" in ends
    assert all(group.entity(end) for end in ends)


def test_the_recipe_hangs_on_both() -> None:
    nothing = says()
    recipes = {
        HybridExtractor(Says(nothing, one), Says(nothing, other)).recipe(GROUP)
        for one, other in (("a", "b"), ("b", "a"), ("a", "a"))
    }
    assert len(recipes) == 3
