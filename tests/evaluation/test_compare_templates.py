"""What only one template found, how its facts are dated, and which labels it found."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from tests.builders import GROUP, START, episode
from turnetl.base.model import Entity, Fact
from turnetl.evaluation.compare_templates import (
    ComparedTemplate,
    EmbeddedLabels,
    ExpectedFact,
    TrialDates,
    compared_templates,
)
from turnetl.evaluation.template_trial import TrialResult, TrialSide
from turnetl.extraction.catalog import GivenTemplate
from turnetl.extraction.config import Template
from turnetl.extraction.port import DiscardReason
from turnetl.migration.matching import EmbeddedFacts, stated

TURN, LATER = episode("p0"), episode("p1", first_line=5)
NO_TEMPLATE = GivenTemplate("none", None, None)
SHORT = GivenTemplate("short.md", Path("short.md"), Template("short", "Be short."))


def entity(name: str) -> Entity:
    return Entity(f"entity {name}", GROUP, name, (), "", START)


def fact(text: str, source: str, target: str, **fields: Any) -> Fact:
    made = Fact(
        uuid=text,
        group_id=GROUP,
        source=f"entity {source}",
        target=f"entity {target}",
        relation="USES",
        text=text,
        turns=(TURN.turn_id,),
        created_at=START,
        valid_at=START,
    )
    return replace(made, **fields)


def side(*facts: Fact, names: tuple[str, ...] = ()) -> TrialSide:
    ends = {end.removeprefix("entity ") for one in facts for end in (one.source, one.target)}
    return TrialSide(tuple(map(entity, sorted({*ends, *names}))), facts)


def rows(texts: list[str]) -> Any:
    """Return a vector per text: equal for texts that have the same first word."""
    words = {word: place for place, word in enumerate(["cart", "tax", "mail", "other"])}
    matrix = np.zeros((len(texts), len(words)), dtype=np.float32)
    for row, text in enumerate(texts):
        matrix[row, words.get(text.split()[0], 3)] = 1
    return matrix


def compare(
    first: TrialSide, second: TrialSide, expected: tuple[ExpectedFact, ...] | None = None
) -> list[ComparedTemplate]:
    sides = (first, second)
    facts = [
        EmbeddedFacts(said, rows([one.text for one in said]))
        for said in (stated(one.facts, one.entities) for one in sides)
    ]
    labels = None
    if expected is not None:
        labels = EmbeddedLabels(expected, rows([one.text for one in expected]))
    return compared_templates(
        (NO_TEMPLATE, SHORT),
        TrialResult(sides, [TURN, LATER]),
        facts,
        labels,
        similarity=0.6,
        estimate_tokens=len,
    )


def test_a_fact_is_missing_on_the_other_side_unless_it_is_similar_and_shares_an_entity() -> None:
    first = side(
        fact("cart is used by the shop", "cart.py", "shop"),
        fact("tax is rounded", "tax.py", "cents", turns=(LATER.turn_id,)),
        fact("mail is sent twice", "mail.py", "hook"),
    )
    second = side(
        fact("cart belongs to the shop", "shop", "cart.py"),
        fact("tax comes from elsewhere", "state", "law"),
        fact("other words about mail.py", "mail.py", "queue"),
    )
    found, _ = compare(first, second)
    assert [one.text for one in found.only_facts] == ["tax is rounded", "mail is sent twice"]
    tax, mail = found.only_facts
    assert (tax.source, tax.target, tax.relation) == ("tax.py", "cents", "USES")
    assert (tax.turn_id, tax.first_line) == (LATER.turn_id, 5)
    assert (tax.nearest, tax.shares_entity) == ("tax comes from elsewhere", False)
    assert (mail.nearest, mail.shares_entity) == ("other words about mail.py", True)


def test_both_are_equal_if_both_found_the_same() -> None:
    same = side(fact("cart is used by the shop", "cart.py", "shop"))
    for found in compare(same, same):
        assert (found.only_facts, found.only_entities) == ((), ())
        assert (found.facts, found.entities) == (1, 2)


def test_a_template_that_found_nothing_has_figures() -> None:
    full, empty = compare(side(fact("cart", "cart.py", "shop")), side())
    assert [one.nearest for one in full.only_facts] == [""]
    assert full.only_entities == ("cart.py", "shop")
    assert (empty.facts, empty.entities, empty.only_facts) == (0, 0, ())


def test_an_entity_is_not_missing_if_a_fact_of_the_other_side_names_it() -> None:
    first = side(names=("src/cart.py", "SQLite", "Postgres"))
    second = side(fact("cart data is in sqlite", "cart.py", "data"))
    assert compare(first, second)[0].only_entities == ("Postgres",)


def test_facts_are_dated_by_before_or_after_their_turn() -> None:
    hour = timedelta(hours=1)
    ended = TURN.turn.ended_at
    assert ended is not None
    times = [START, START - hour, ended + hour, START - 2 * hour, ended + 2 * hour, None]
    facts = [fact(f"cart {place}", "a", "b", valid_at=at) for place, at in enumerate(times)]
    assert compare(side(*facts), side())[0].dates == TrialDates(
        undated=1, within=3, before=1, after=1
    )


def test_names_of_the_stoplist_that_were_kept_are_junk() -> None:
    found, _ = compare(side(names=("line 42", "user", "cart.py")), side())
    assert found.junk == {
        DiscardReason.GENERIC_WORD: ("user",),
        DiscardReason.LINE_NUMBER: ("line 42",),
    }


def test_a_label_is_found_in_its_turn_about_its_entities() -> None:
    first = side(
        fact("cart uses sqlite", "cart.py", "sqlite"),
        fact("tax is rounded", "tax.py", "cents", turns=(LATER.turn_id,)),
        fact("mail is sent twice", "mail.py", "hook"),
    )
    expected = (
        ExpectedFact(TURN.turn_id, "cart reads sqlite", ("sqlite",), 2),
        ExpectedFact(TURN.turn_id, "cart reads postgres", ("postgres",), 3),
        ExpectedFact(TURN.turn_id, "tax is rounded", (), 4),
    )
    score = compare(first, side(), expected)[0].labels
    assert score is not None
    assert [one.is_found for one in score.checked] == [True, False, False]
    assert score.checked[0].nearest == "cart uses sqlite"
    assert (score.extracted, score.matching) == (2, 1)
    assert (score.recall, score.precision) == (1 / 3, 1 / 2)
    missing = compare(first, side(), expected)[1].labels
    assert missing is not None
    assert (missing.recall, missing.precision) == (0, None)


def test_without_labels_there_is_no_recall() -> None:
    score = compare(side(fact("cart", "a", "b")), side(), ())[0].labels
    assert score is not None
    assert (score.recall, score.precision) == (None, None)


def test_a_template_has_the_tokens_of_its_text() -> None:
    without, short = compare(side(), side())
    assert (without.name, without.tokens, without.path) == ("none", 0, None)
    assert (short.tokens, short.path) == (len("Be short."), Path("short.md"))
