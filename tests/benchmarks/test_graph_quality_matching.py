"""The judge of the graph agrees with guide.md about small invented facts."""

from datetime import UTC, datetime

import pytest

from benchmarks.graph_quality_labels import DecisionLabel, EditLabel, EntityLabel, ErrorLabel
from benchmarks.graph_quality_matching import (
    GraphEntity,
    GraphFact,
    call_times,
    has_identity,
    has_signature,
    is_edit,
    is_entity,
    is_failure,
    match,
    resolution,
    same_name,
    speaker,
    spellings,
    states,
)
from turnetl.base.model import Attribute
from turnetl.evaluation.intervals import wilson

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def entity(label: str, name: str) -> GraphEntity:
    return GraphEntity(f"{label} {name}", name, frozenset({label}))


def fact(
    source: GraphEntity, relation: str, target: GraphEntity, text: str = "", **attributes: Attribute
) -> GraphFact:
    return GraphFact("turn", source, relation, target, text, NOON, attributes=attributes)


CART = entity("File", "src/shop/cart.py")
TOTAL = entity("Symbol", "Cart.total")
ERROR = entity("Error", "KeyError: sku")
REDIS = entity("Decision", "Redis for the cache")


def test_a_name_is_the_same_in_another_spelling_only(subtests: pytest.Subtests) -> None:
    same = (
        ("cart.py", "src/shop/Cart.py"),
        ("retry-delay", "retry_delay"),
        ("total()", "Cart.total"),
        ("a1b2c3d", "a1b2c3d4e5"),
        ("#12", "shop/cart#12"),
    )
    different = (
        ("cart.py", "src/shop/smart_cart.py"),
        ("cart.py", "All prices are in src/cart.py"),
        *(("py", "cart.py"), ("#12", "#2"), ("", "")),
    )
    for first, second in same:
        with subtests.test(first=first, second=second):
            assert same_name(first, second)
            assert same_name(second, first)
    for first, second in different:
        with subtests.test(first=first, second=second):
            assert not same_name(first, second)


def test_second_spellings_are_counted_by_case_separators_and_path_suffix() -> None:
    assert spellings(["cart.py", "src/cart.py", "RetryDelay", "retry_delay", "cart"]) == 2
    assert spellings(["src/cart.py", "lib/cart.py", "shop", "src/shop"]) == 0


def test_a_relation_joins_only_what_it_may_join() -> None:
    assert has_signature(fact(CART, "CHANGED", TOTAL))
    assert has_signature(fact(entity("Concept", "user"), "REPORTED", ERROR))
    assert has_signature(fact(REDIS, "DECIDED", CART))
    assert not has_signature(fact(TOTAL, "CHANGED", CART))
    assert not has_signature(fact(entity("Command", "make"), "FAILED_WITH", CART))


def test_a_statement_needs_every_key_term_and_the_kind() -> None:
    label = DecisionLabel(
        *("d1", "a", 1, 1, "decision", "user", "The cache is Redis.", "cache"),
        *(("redis", "cache|caching"), "", False, "tune"),
    )
    whole = fact(REDIS, "DECIDED", CART, "The user chose Redis for the cache.")
    assert states(whole, label)
    assert speaker(whole) == "user"
    assert speaker(fact(REDIS, "DECIDED", CART, "Redis it is", speaker="agent")) == "agent"
    assert not states(fact(REDIS, "REJECTED", CART, "Redis for the cache"), label)
    assert not states(fact(entity("Decision", "Redis"), "DECIDED", CART, "use Redis"), label)


def test_an_edit_needs_both_endpoints_except_in_a_document() -> None:
    def label(relation: str, source: str, target: str) -> EditLabel:
        return EditLabel("x1", "a", 1, 1, relation, source, target, "", "tune")

    changed = fact(CART, "CHANGED", TOTAL)
    assert is_edit(changed, label("CHANGED", "cart.py", "total"))
    assert is_edit(changed, label("CHANGED", "cart.py", "cart.py"))
    assert not is_edit(changed, label("CHANGED", "cart.py", "price"))
    assert not is_edit(changed, label("ADDED", "cart.py", "total"))
    in_document = fact(entity("File", "docs/cart.md"), "CHANGED", entity("Symbol", "Discounts"))
    assert is_edit(in_document, label("CHANGED", "docs/cart.md", "rounding"))
    halves = (fact(CART, "DELETED", CART), fact(entity("File", "basket.py"), "ADDED", TOTAL))
    assert all(is_edit(half, label("RENAMED", "cart.py", "basket.py")) for half in halves)
    fixed = fact(ERROR, "FIXED_BY", CART, "`KeyError: sku` is gone")
    assert is_edit(fixed, label("FIXED_BY", "KeyError of sku", "cart.py"))


def test_an_error_is_named_by_its_test_or_most_words_of_its_message() -> None:
    assert has_identity("`make test` failed in `TestCart`", "TestCart/rounds_down")
    assert has_identity("E501 in `cart.py`: line too long", "E501 in src/shop/cart.py")
    assert not has_identity("E501 in `smart.py`", "F401 in src/shop/cart.py")


def test_a_failure_ends_as_its_attribute_or_a_fix_says() -> None:
    label = ErrorLabel(
        *("e1", "a", 1, 1, "make", "KeyError: sku", True, "fixed_by", "a", 9, 5, "", "tune")
    )
    failed = fact(entity("Command", "make"), "FAILED_WITH", ERROR)
    assert is_failure(failed, label)
    assert resolution(failed, ()) == "unresolved"
    assert resolution(failed, [fact(ERROR, "FIXED_BY", CART)]) == "fixed_by"
    rerun = fact(CART, "FAILED_WITH", ERROR, resolution="passed_on_rerun")
    assert resolution(rerun, [fact(ERROR, "FIXED_BY", CART)]) == "passed_on_rerun"


def test_a_string_that_is_no_entity_is_taken_only_by_its_own_spelling() -> None:
    none = EntityLabel("n1", "Option A", "none", (), "a", 1, "", "tune")
    real = EntityLabel("n2", "src/shop/cart.py", "File", ("the cart",), "a", 1, "", "tune")
    assert is_entity(entity("Concept", "option a"), none)
    assert not is_entity(entity("File", "notes/Option A"), none)
    assert is_entity(entity("File", "cart.py"), real)


def test_a_label_is_said_once_and_what_says_it_again_is_a_repetition() -> None:
    matched = match(["redis", "redis again", "tea"], ["redis", "ci"], str.startswith)
    assert matched.pairs == [("redis", "redis")]
    assert (matched.repeated, matched.wrong, matched.missed) == (["redis again"], ["tea"], ["ci"])


def test_a_call_lasts_until_the_row_with_its_result() -> None:
    rows = (
        '{"timestamp":"2026-03-02T12:00:00Z","content":[{"id":"toolu_1"}]}',
        '{"timestamp":"2026-03-02T12:00:01Z","content":[{"tool_use_id":"toolu_2"}]}',
        '{"timestamp":"2026-03-02T12:00:05Z","content":[{"tool_use_id":"toolu_1"}]}',
    )
    assert call_times(rows) == (NOON, NOON.replace(second=5))
    assert call_times(rows[1:]) == (NOON.replace(second=1), None)


def test_an_interval_holds_its_share_and_narrows_with_more_items() -> None:
    few, many = wilson(3, 4), wilson(300, 400)
    assert few[0] < many[0] < 0.75 < many[1] < few[1]
    assert wilson(0, 0) == (0.0, 1.0)
