import random
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import builders
from tests.builders import tool
from tests.extraction.structural.shop_group import ShopGroup
from turnetl.base.model import ToolCall
from turnetl.base.relations import EDITS
from turnetl.extraction.port import Extractor
from turnetl.extraction.structural import StructuralExtractor, decision_cues, rules_digest
from turnetl.extraction.structural.extractor import extract_findings
from turnetl.extraction.structural.findings import TurnFindings

CALLS = (
    tool("Edit", "/home/dev/shop/src/cart.py :: - a + b"),
    tool("Edit", "/home/dev/shop/src/tax.py :: - a + rate = 0.2"),
    tool("Bash", "pytest -q", "KeyError: 'price'", is_error=True),
    tool("Bash", "pytest -q tests", "KeyError: 'price'", is_error=True),
    tool("Bash", "git push", "ok"),
    tool("Bash", "uv add httpx", "ok"),
)


def test_the_recipe_is_constant() -> None:
    extractor: Extractor[TurnFindings] = StructuralExtractor()
    assert extractor.recipe_parts(builders.GROUP) == StructuralExtractor().recipe_parts(
        builders.GROUP
    )


def test_a_changed_word_list_changes_the_recipe() -> None:
    recipes = {
        rules_digest(lists)
        for lists in (
            {"A": frozenset({"x", "y"})},
            {"A": frozenset({"x"})},
            {"B": frozenset({"x"})},
            {"A": frozenset({"x"}), "B": frozenset({"y"})},
        )
    }
    assert len(recipes) == 4


def test_the_wording_of_decisions_is_part_of_the_recipe() -> None:
    wordings = decision_cues.wordings()
    assert {"DECIDED", "UNDECIDED", "PREFERRED", "REJECTED"} <= set(wordings)
    changed = wordings | {"DECIDED": frozenset({"another"})}
    assert rules_digest(wordings) != rules_digest(changed)


async def test_a_repeated_turn_gives_the_same_result(shop: ShopGroup) -> None:
    first = await shop.resolve(tool_calls=CALLS)
    assert await shop.resolve(tool_calls=CALLS) == first


async def test_keys_do_not_depend_on_the_order_of_calls(shop: ShopGroup) -> None:
    first = await shop.resolve(tool_calls=CALLS)
    for seed in range(5):
        shuffled = random.Random(seed).sample(CALLS, len(CALLS))
        other = await shop.resolve(tool_calls=tuple(shuffled))
        assert {fact.uuid for fact in other.facts} == {fact.uuid for fact in first.facts}
        assert other.mentions == first.mentions


async def test_a_known_entity_is_not_written_again(shop: ShopGroup) -> None:
    first = await shop.ingest("a", tool_calls=CALLS)
    second = await shop.ingest("b", tool_calls=CALLS)
    assert first.entities
    assert second.entities == ()
    assert second.mentions == first.mentions


async def test_a_known_entity_gains_a_label_and_keeps_its_other_fields(shop: ShopGroup) -> None:
    failed = tool("Bash", "pytest", "KeyError: 'price'", is_error=True)
    first = await shop.ingest("a", tool_calls=(failed,))
    [known] = [entity for entity in first.entities if entity.name == "pytest"]
    assert known.labels == ("Command", "Tool")
    without_label = replace(known, labels=("Command",), summary="runs the tests", embedding=None)
    earlier = builders.episode("older recipe")
    shop.group.apply(builders.change(earlier, [without_label]), builders.receipt(earlier))
    [again] = (await shop.resolve("b", tool_calls=(failed,))).entities
    assert again == replace(without_label, labels=("Command", "Tool"))


async def test_another_spelling_is_the_same_entity_with_the_first_one(shop: ShopGroup) -> None:
    await shop.ingest("a", user_text="We should never round in `applyDiscount`")
    second = await shop.ingest("b", user_text="Has `cart.apply_discount()` a test for zero?")
    [renamed] = second.entities
    assert (renamed.name, renamed.aliases) == ("applyDiscount", ("apply_discount",))
    third = await shop.resolve("c", user_text="Has `apply_discount` one for one, too?")
    assert third.entities == ()
    assert shop.names("Symbol") == ["applyDiscount"]


async def test_a_turn_with_two_spellings_of_a_name_has_one_entity(shop: ShopGroup) -> None:
    calls = (
        tool("Edit", "/home/dev/shop/README.md :: - a + b"),
        tool("Read", "/home/dev/shop/readme.md"),
    )
    await shop.ingest(assistant_text="See `Readme.md` and `./readme.MD`.", tool_calls=calls)
    assert shop.names("File") == ["README.md"]
    loops = [fact.relation for fact in shop.group.facts if fact.source == fact.target]
    assert loops == ["CHANGED"]


async def test_the_spelling_does_not_depend_on_the_order_of_calls(shop: ShopGroup) -> None:
    calls = [tool("Edit", f"src/{name}.py :: - a + b") for name in ("cart", "Cart", "CART")]
    first = await shop.resolve(tool_calls=tuple(calls))
    for seed in range(5):
        shuffled = random.Random(seed).sample(calls, len(calls))
        other = await shop.resolve(tool_calls=tuple(shuffled))
        assert [e for e in other.entities if e.name.lower() == "src/cart.py"] == [
            e for e in first.entities if e.name.lower() == "src/cart.py"
        ]


async def test_the_entities_of_every_fact_exist(shop: ShopGroup) -> None:
    resolved = await shop.ingest(tool_calls=CALLS, git_branch="ann/fix")
    existing = {entity.uuid for entity in shop.group.entities}
    assert resolved.facts
    endpoints = {uuid for fact in resolved.facts for uuid in (fact.source, fact.target)}
    assert endpoints <= existing
    loops = {fact.relation for fact in resolved.facts if fact.source == fact.target}
    assert loops <= EDITS


async def test_an_empty_turn_has_no_facts(shop: ShopGroup) -> None:
    resolved = await shop.resolve(user_text="", assistant_text="", git_branch=None)
    assert resolved.facts == ()


async def test_calls_with_blank_input_have_no_entities(shop: ShopGroup) -> None:
    names = ["Skill", "WebSearch", "Bash", "Edit", "mcp__ __x"]
    await shop.ingest(tool_calls=tuple(tool(name, " ") for name in names))
    assert [entity.name for entity in shop.group.entities if not entity.name.strip()] == []


async def test_the_number_of_entities_and_facts_is_limited(shop: ShopGroup) -> None:
    many = tuple(tool("Edit", f"src/module_{n}.py :: - a + b") for n in range(300))
    failed = tuple(
        tool("Bash", f"tool{n} build", f"ValueError: number {n} is bad", is_error=True)
        for n in range(300)
    )
    answer = " ".join(
        f"The bug is in `thing_{n}` because of it. Also `thing_{n}`." for n in range(500)
    )
    said = "We should never round twice."
    resolved = await shop.resolve(user_text=said, tool_calls=many + failed, assistant_text=answer)
    assert len(resolved.mentions) <= 50
    assert len(resolved.entities) <= 50
    assert len(resolved.facts) <= 50
    assert "DECIDED" in {fact.relation for fact in resolved.facts}


HOSTILE = [
    "a" * 5_000_000,
    "\n" * 5_000_000,
    " " * 5_000_000,
    "`" * 5_000_000,
    "<a " * 1_500_000,
    "[[" * 2_000_000,
    "/" * 5_000_000,
    "a/" * 2_000_000,
    "'\"\\" * 1_500_000,
    "|-|=" * 1_000_000,
    "Error: " * 700_000,
    "A.B." * 1_000_000 + "Error",
    '{"a":' * 1_000_000,
    "<<'EOF' " * 600_000,
    "I'll use x instead of " * 200_000,
]


@pytest.mark.full
@pytest.mark.parametrize("text", HOSTILE, ids=[text[:8].strip() or "blank" for text in HOSTILE])
def test_megabytes_in_every_field_are_extracted(text: str) -> None:
    calls = (
        ToolCall("Bash", text, text, is_error=True, ended_at=None),
        ToolCall("Bash", "pytest -q", text, is_error=True, ended_at=None),
        ToolCall("Edit", text, text, is_error=False, ended_at=None),
        ToolCall("WebFetch", text, text, is_error=False, ended_at=None),
        ToolCall("mcp__x__y", text, text, is_error=False, ended_at=None),
    )
    findings = extract_findings(
        builders.episode(
            user_text=text,
            assistant_text=text,
            steering=(text,),
            user_answers=(text,),
            subagent_prompts=(text,),
            tool_calls=calls,
        ),
        (),
    )
    assert [fact.relation for fact in findings.facts if len(fact.text) >= 1000] == []
    assert [entity.label for entity in findings.entities if len(entity.name) >= 400] == []


CONTROL = re.compile(r"[\x00-\x1f\x7f]")
TEXTS = st.text(max_size=60) | st.sampled_from(
    [
        "`a_b` is because ../x",
        "cd x && 'y",
        '{"file_path":3}',
        '{"command":["a"]}',
        "*** Update File: a.py",
        "git commit -m \"$(cat <<'EOF'",
        "/home/dev/shop/../..",
        "--- FAIL: T",
        '"q"="a"',
        "$(",
        "\x00\ud800",
    ]
)
TOOL_NAMES = st.sampled_from(
    ["Bash", "Edit", "Write", "Read", "WebFetch", "Skill", "mcp__a__b", ""]
)
TIMES = st.none() | st.datetimes(timezones=st.just(UTC))
TOOL_CALLS = st.builds(ToolCall, TOOL_NAMES, TEXTS, TEXTS, st.booleans(), TIMES)
TEXT_LISTS = st.lists(TEXTS, max_size=3).map(tuple)
TURNS = st.fixed_dictionaries(
    {
        "user_text": TEXTS,
        "assistant_text": TEXTS,
        "steering": TEXT_LISTS,
        "user_answers": TEXT_LISTS,
        "subagent_prompts": TEXT_LISTS,
        "tool_calls": st.lists(TOOL_CALLS, max_size=5).map(tuple),
        "cwd": st.none() | TEXTS,
        "git_branch": st.none() | TEXTS,
        "ended_at": TIMES,
    }
)


@given(fields=TURNS)
async def test_no_turn_raises_an_error(fields: dict[str, Any]) -> None:
    shop = ShopGroup()
    resolved = await shop.ingest(**fields)
    texts = [
        *(fact.text for fact in resolved.facts),
        *(entity.name for entity in resolved.entities),
    ]
    assert [text for text in texts if not text.strip() or CONTROL.search(text)] == []
    assert [fact for fact in resolved.facts if not isinstance(fact.valid_at, datetime)] == []
