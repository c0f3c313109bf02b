"""`turnetl review`: a model's turn that would end many facts ends none until a person agrees."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from jsonschema import validate

from tests.cli.archives import conversation, write_archive
from tests.cli.command import CommandResult, run_in_process
from tests.cli.provider_setup import SESSION_START, model_environment
from tests.servers.provider import FakeProvider
from turnetl.json_output.schemas import json_schema

FILES = ("cart", "order", "price")


class HeldShop:
    """A folder with a graph, whose second turn would end the three facts of the first."""

    def __init__(self, folder: Path, provider: FakeProvider, extractor: str) -> None:
        self.folder = folder
        self._settings = model_environment(
            provider, INVALIDATION_ALERT="2", EXTRACTOR=extractor, CLOSE_AFTER_MINUTES="0"
        )
        uses = " ".join(f"`{name}.py` uses `sqlite`." for name in FILES)
        ends = " ".join(f"`{name}.py` no longer uses `sqlite`." for name in FILES)
        prompts = (f"Look at this: {uses}", f"It changed: {ends}")
        rows = [
            row
            for day, prompt in enumerate(prompts)
            for row in conversation(prompt, session=f"s{day}", at=SESSION_START + timedelta(day))
        ]
        write_archive(folder / "a.jsonl", rows)
        self.backfilled = self.run("backfill", "a.jsonl")
        assert self.backfilled.exit_code == 0, self.backfilled.stderr
        self.turn: str = self.held[0]["turn_id"]

    def run(self, *arguments: str) -> CommandResult:
        return run_in_process(*arguments, folder=self.folder, **self._settings)

    @property
    def held(self) -> list[dict[str, Any]]:
        """The turns that hold something."""
        output = self.run("review", "--json").json
        validate(output, json_schema("review"))
        return [turn for group in output["groups"] for turn in group["turns"]]

    def ended(self) -> set[str]:
        """Return the files of the facts that the search index has as ended."""
        hits = self.run("search", "look at this", "--json").json["hits"]
        [first] = (hit["turn_id"] for hit in hits if hit["prompt"].startswith("Look"))
        shown = self.run("show", first, "--json").json
        facts = {fact["text"]: fact["invalid_at"] for fact in shown["facts"]}
        assert facts.keys() == {f"{name}.py uses sqlite" for name in FILES}
        return {text.partition(".py")[0] for text, at in facts.items() if at is not None}


@pytest.fixture
def shop(tmp_path: Path, provider: FakeProvider) -> HeldShop:
    return HeldShop(tmp_path, provider, "llm")


def test_what_a_turn_would_have_ended_is_held_and_every_command_says_so(shop: HeldShop) -> None:
    said = "group `shop`: 3 facts that a model would have ended are held for review"
    assert said in shop.backfilled.stderr
    assert said in shop.run("status").stderr
    assert shop.run("status", "--json").json["groups"][0]["facts_held"] == 3
    assert shop.ended() == set()
    listed = shop.run("review")
    for name in FILES:
        assert f"{name}.py uses sqlite" in listed.stdout
        assert f"would end 2026-03-03 09:00: {name}.py no longer uses sqlite" in listed.stdout
    assert "a.jsonl:3" in listed.stdout
    assert "3 facts of 1 turn to review" in listed.stdout
    assert shop.run("verify").exit_code == 0


def test_accepted_facts_end_until_the_turn_is_undone_or_repeated(shop: HeldShop) -> None:
    turn, fact = shop.turn, shop.held[0]["facts"][0]
    name = fact["text"].partition(".py")[0]
    for accepted in (1, 0):  # twice is safe
        done = shop.run("review", "accept", turn[:8], fact["fact_id"][:8], "--yes", "--json")
        assert done.exit_code == 0
        validate(done.json, json_schema("review"))
        assert sum(group["answered"] for group in done.json["groups"]) == accepted
        assert shop.ended() == {name}
    assert shop.run("review", "accept", turn, "--yes").exit_code == 0
    assert shop.held == []
    assert shop.ended() == {*FILES}
    assert shop.run("verify").exit_code == 0
    assert shop.run("redo", "--turn", turn, "--yes").exit_code == 0
    assert len(shop.held[0]["facts"]) == 3
    assert shop.ended() == set()
    assert shop.run("review", "accept", turn, "--yes").exit_code == 0
    assert shop.run("undo", "--turn", turn, "--yes").exit_code == 0
    assert shop.held == []
    assert shop.ended() == set()


def test_rejected_facts_are_asked_for_no_more(shop: HeldShop) -> None:
    fact = shop.held[0]["facts"][0]["fact_id"]
    for left in (2, 2):
        done = shop.run("review", "reject", shop.turn, fact, "--yes")
        assert done.exit_code == 0
        assert len(shop.held[0]["facts"]) == left
    done = shop.run("review", "reject", shop.turn, "--yes", "--json")
    validate(done.json, json_schema("review"))
    assert shop.held == []
    assert shop.ended() == set()
    assert "held for review" not in shop.run("status").stderr


def test_nothing_is_answered_without_confirmation_or_for_an_unknown_turn(
    shop: HeldShop,
) -> None:
    for arguments, code, said in (
        (("accept", shop.turn), 1, "confirm it on a terminal, or add --yes"),
        (("accept", shop.turn, "--dry-run"), 0, "3 facts of 1 turn would be ended"),
        (("reject", shop.turn, "--dry-run"), 0, "3 facts of 1 turn would be kept"),
        (("accept",), 2, "say of which turn"),
        (("accept", "unknown", "--yes"), 2, "the graph holds no turn `unknown`"),
        (("accept", "", "--yes"), 2, "an id is empty"),
        (("accept", shop.turn, "", "--yes"), 2, "an id is empty"),
        (("accept", shop.turn, "unknown", "--yes"), 0, "nothing is held for review"),
    ):
        result = shop.run("review", *arguments)
        assert result.exit_code == code
        assert said in result.stdout + result.stderr
    assert len(shop.held[0]["facts"]) == 3


@pytest.mark.full
def test_what_the_model_of_hybrid_would_have_ended_is_held_too(
    tmp_path: Path, provider: FakeProvider
) -> None:
    assert len(HeldShop(tmp_path, provider, "hybrid").held[0]["facts"]) == 3
