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
from turnetl.extraction.port import Extractor
from turnetl.extraction.structural import StructuralExtractor
from turnetl.extraction.structural.extractor import extract_findings
from turnetl.extraction.structural.findings import TurnFindings
from turnetl.model import ToolCall

CALLS = (
    tool("Edit", "/home/dev/shop/src/cart.py :: - a + b"),
    tool("Edit", "/home/dev/shop/src/tax.py :: - a + rate = 0.2"),
    tool("Bash", "pytest -q", "KeyError: 'price'", is_error=True),
    tool("Bash", "pytest -q tests", "KeyError: 'price'", is_error=True),
    tool("Bash", "git push", "ok"),
    tool("Bash", "uv add httpx", "ok"),
)


def test_it_is_an_extractor() -> None:
    extractor: Extractor[TurnFindings] = StructuralExtractor()
    assert extractor.recipe(builders.GROUP) == StructuralExtractor().recipe(builders.GROUP)


async def test_the_same_turn_twice_is_the_same(shop: ShopGroup) -> None:
    first = await shop.resolve(tool_calls=CALLS)
    assert await shop.resolve(tool_calls=CALLS) == first


async def test_the_order_of_calls_does_not_matter_to_keys(shop: ShopGroup) -> None:
    first = await shop.resolve(tool_calls=CALLS)
    for seed in range(5):
        mixed = random.Random(seed).sample(CALLS, len(CALLS))  # noqa: S311, any order does
        other = await shop.resolve(tool_calls=tuple(mixed))
        assert {fact.uuid for fact in other.facts} == {fact.uuid for fact in first.facts}
        assert other.mentions == first.mentions


async def test_a_known_entity_is_not_written_again(shop: ShopGroup) -> None:
    first = await shop.ingest("a", tool_calls=CALLS)
    second = await shop.ingest("b", tool_calls=CALLS)
    assert first.entities
    assert second.entities == ()
    assert second.mentions == first.mentions


async def test_a_known_entity_gains_a_label_and_keeps_the_rest(shop: ShopGroup) -> None:
    first = await shop.ingest("a", tool_calls=(tool("Bash", "pytest", "ok"),))
    [known] = [entity for entity in first.entities if entity.name == "pytest"]
    assert known.labels == ("Command", "Tool")
    less = replace(known, labels=("Command",), summary="runs the tests", embedding=None)
    earlier = builders.episode("older recipe")
    shop.group.apply(builders.change(earlier, [less]), builders.receipt(earlier))
    [again] = (await shop.resolve("b", tool_calls=(tool("Bash", "pytest", "ok"),))).entities
    assert again == replace(less, labels=("Command", "Tool"))


async def test_ends_of_every_fact_are_there(shop: ShopGroup) -> None:
    resolved = await shop.ingest(tool_calls=CALLS, git_branch="ann/fix")
    there = {entity.uuid for entity in shop.group.entities}
    assert resolved.facts
    assert {end for fact in resolved.facts for end in (fact.source, fact.target)} <= there
    assert all(fact.source != fact.target for fact in resolved.facts)


async def test_a_turn_that_names_nothing_still_has_its_two_sentences(shop: ShopGroup) -> None:
    await shop.ingest(user_text="hello there, how are you", assistant_text="I am well.", cwd=None)
    assert len(shop.texts("ASKED")) == len(shop.texts("ANSWERED")) == 1


async def test_an_empty_turn_says_nothing(shop: ShopGroup) -> None:
    resolved = await shop.resolve(user_text="", assistant_text="", git_branch=None)
    assert resolved.facts == ()


async def test_a_call_of_nothing_names_nothing(shop: ShopGroup) -> None:
    names = ["Skill", "WebSearch", "Bash", "Edit", "mcp__ __x"]
    await shop.ingest(tool_calls=tuple(tool(name, " ") for name in names))
    assert [entity.name for entity in shop.group.entities if not entity.name.strip()] == []


async def test_bounds_hold_whatever_a_turn_holds(shop: ShopGroup) -> None:
    many = tuple(tool("Edit", f"src/module_{n}.py :: - a + b") for n in range(300))
    failed = tuple(
        tool("Bash", f"tool{n} build", f"ValueError: number {n} is bad", is_error=True)
        for n in range(300)
    )
    answer = " ".join(
        f"The bug is in `thing_{n}` because of it. Also `thing_{n}`." for n in range(500)
    )
    resolved = await shop.resolve(tool_calls=many + failed, assistant_text=answer)
    assert len(resolved.mentions) <= 40
    assert len(resolved.entities) <= 40
    assert len(resolved.facts) <= 40
    assert {"ASKED", "ANSWERED"} <= {fact.name for fact in resolved.facts}


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


@pytest.mark.parametrize("text", HOSTILE, ids=[text[:8].strip() or "blank" for text in HOSTILE])
def test_megabytes_in_every_field_are_read(text: str) -> None:
    calls = (
        ToolCall("Bash", text, text, is_error=True, ended_at=None),
        ToolCall("Bash", "pytest -q", text, is_error=True, ended_at=None),
        ToolCall("Edit", text, text, is_error=False, ended_at=None),
        ToolCall("WebFetch", text, text, is_error=False, ended_at=None),
        ToolCall("mcp__x__y", text, text, is_error=False, ended_at=None),
    )
    found = extract_findings(
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
    assert [said.name for said in found.facts if len(said.text) >= 1000] == []
    assert [thing.label for thing in found.entities if len(thing.name) >= 400] == []


CONTROL = re.compile(r"[\x00-\x1f\x7f]")
WORDS = st.text(max_size=60) | st.sampled_from(
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
NAMES = st.sampled_from(["Bash", "Edit", "Write", "Read", "WebFetch", "Skill", "mcp__a__b", ""])
TIMES = st.none() | st.datetimes(timezones=st.just(UTC))
TOOLS = st.builds(ToolCall, NAMES, WORDS, WORDS, st.booleans(), TIMES)
MANY = st.lists(WORDS, max_size=3).map(tuple)
TURNS = st.fixed_dictionaries(
    {
        "user_text": WORDS,
        "assistant_text": WORDS,
        "steering": MANY,
        "user_answers": MANY,
        "subagent_prompts": MANY,
        "tool_calls": st.lists(TOOLS, max_size=5).map(tuple),
        "cwd": st.none() | WORDS,
        "git_branch": st.none() | WORDS,
        "ended_at": TIMES,
    }
)


@given(fields=TURNS)
async def test_nothing_is_raised_whatever_a_turn_says(fields: dict[str, Any]) -> None:
    shop = ShopGroup()
    resolved = await shop.ingest(**fields)
    said = [*(fact.text for fact in resolved.facts), *(entity.name for entity in resolved.entities)]
    assert [text for text in said if not text.strip() or CONTROL.search(text)] == []
    assert [fact for fact in resolved.facts if not isinstance(fact.valid_at, datetime)] == []
