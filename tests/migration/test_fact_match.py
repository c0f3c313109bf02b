"""An old fact is compared with the new facts that name one of its entities."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnetl.llm.vectors import Matrix
from turnetl.migration.matching import (
    EmbeddedFacts,
    FactMatch,
    FactStatement,
    best_matches,
    entity_key,
)


def rows(*numbers: tuple[float, float]) -> Matrix:
    matrix = np.array(numbers, dtype=np.float32).reshape(-1, 2)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    return matrix


def fact(text: str, *entities: str) -> FactStatement:
    return FactStatement(text, entities)


def matches_of(
    old: list[FactStatement], new: list[FactStatement], old_rows: Matrix, new_rows: Matrix
) -> list[FactMatch]:
    return best_matches(EmbeddedFacts(old, old_rows), EmbeddedFacts(new, new_rows))


def test_a_less_similar_fact_about_the_same_entity_is_preferred() -> None:
    old = [fact("the cart rounds", "cart.py")]
    new = [fact("it rounds", "tax.py"), fact("it rounds up", "src/shop/Cart.py")]
    [match] = matches_of(old, new, rows((1, 0)), rows((1, 0), (1, 1)))
    assert (match.position, match.shares_entity) == (1, True)
    assert match.similarity == pytest.approx(np.sqrt(0.5))


def test_a_fact_whose_text_names_the_entity_shares_it() -> None:
    old = [fact("x", "release party")]
    new = [fact("a party", "Ada"), fact("The Release of the next party.", "Ada")]
    [match] = matches_of(old, new, rows((1, 0)), rows((1, 0), (0, 1)))
    assert (match.position, match.shares_entity) == (1, True)


def test_without_a_shared_entity_the_nearest_fact_is_named_as_such() -> None:
    old = [fact("x", "cart.py"), fact("y"), fact("z", "")]
    new = [fact("a", "tax.py"), fact("b", "mycart.py")]
    matches = matches_of(old, new, rows((1, 0), (0, 1), (0, 1)), rows((1, 0), (0, 1)))
    assert [(one.position, one.shares_entity) for one in matches] == [
        (0, False),
        (1, False),
        (1, False),
    ]


def test_no_new_fact_matches_nothing() -> None:
    [match] = matches_of([fact("x", "a")], [], rows((1, 0)), np.zeros((0, 2), np.float32))
    assert (match.position, match.similarity) == (None, 0.0)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("src/shop/Cart.py", "cart.py"),
        ("C:\\shop\\cart.py", "cart.py"),
        ("the  Cart", "The cart"),
        ("src/", "SRC"),
        ("", "  "),
    ],
)
def test_folders_case_and_spaces_make_no_other_entity(one: str, other: str) -> None:
    assert entity_key(one) == entity_key(other)


NAMES = st.sampled_from(["cart.py", "src/tax.py", "Ada", "release party", "", "§"])
FACTS = st.lists(
    st.tuples(st.text(max_size=12), st.tuples(NAMES, NAMES), st.integers(0, 7)), max_size=12
)


@given(FACTS, FACTS)
def test_the_blocks_find_what_a_comparison_of_all_pairs_finds(
    old: list[tuple[str, tuple[str, str], int]], new: list[tuple[str, tuple[str, str], int]]
) -> None:
    def matrix(facts: list[tuple[str, tuple[str, str], int]]) -> Matrix:
        return rows(*((np.cos(angle), np.sin(angle)) for _, _, angle in facts))

    def stated(facts: list[tuple[str, tuple[str, str], int]]) -> list[FactStatement]:
        return [fact(text, *names) for text, names, _ in facts]

    cosines = matrix(old) @ matrix(new).T
    matches = matches_of(stated(old) * 40, stated(new), np.tile(matrix(old), (40, 1)), matrix(new))
    assert matches == matches[: len(old)] * 40
    for row, match in enumerate(matches[: len(old)]):
        if not new:
            assert match.position is None
            continue
        assert match.position is not None
        chosen = cosines[row, match.position]
        assert match.similarity == pytest.approx(max(0.0, float(chosen)), abs=1e-5)
        named = {entity_key(name) for name in old[row][1]} - {""}
        about = [
            position
            for position, (_, names, _) in enumerate(new)
            if named & {entity_key(name) for name in names} - {"§"}
        ]
        if about:
            assert match.shares_entity
            assert chosen >= cosines[row, about].max() - 1e-5
