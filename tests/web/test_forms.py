"""The parameters of a page, whatever they are."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnetl.base.errors import BadUsage
from turnetl.index.conditions import Selection
from turnetl.retrieval.search import Order
from turnetl.web.forms import PageForm, read_form

NOW = datetime(2026, 6, 15, 12, tzinfo=UTC)
FIELDS = (
    "q", "group", "sort", "page", "since", "until", "as_of", "session", "format", "branch", "tool",
    "file", "entity", "label", "relation", "id", "name", "path", "unknown",
)  # fmt: skip


def test_a_form_becomes_the_conditions_of_a_search() -> None:
    form = read_form(
        [
            ("q", " why "),
            ("group", "shop"),
            ("group", "shop"),
            ("group", "bank"),
            ("since", "2026-03"),
            ("until", "2026-03"),
            ("as_of", "2026-05-01"),
            ("file", "src/cart.py"),
            ("tool", ""),
            ("sort", "time"),
            ("page", "3"),
        ]
    )
    assert (form.query, form.groups, form.order, form.page) == ("why", ("shop", "bank"), "time", 3)
    selection = form.selection(NOW)
    assert selection == Selection(
        groups=("shop", "bank"),  # type: ignore[arg-type]
        since=datetime(2026, 3, 1, tzinfo=UTC),
        until=datetime(2026, 4, 1, tzinfo=UTC),
        as_of=datetime(2026, 5, 2, tzinfo=UTC),
        file="src/cart.py",
    )


def test_an_empty_form_selects_every_turn() -> None:
    form = read_form([("q", "  "), ("group", ""), ("since", ""), ("unknown", "x")])
    assert form == PageForm()
    assert form.is_empty
    assert form.selection(NOW).is_empty


def test_of_a_repeated_parameter_the_last_value_counts() -> None:
    assert read_form([("q", "a"), ("q", "b")]).query == "b"


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (("page", "0"), "no page"),
        (("page", "-1"), "no page"),
        (("page", "1e3"), "no page"),
        (("page", "²"), "no page"),
        (("page", "9" * 5000), "no page"),
        (("sort", "colour"), "score or time"),
    ],
)
def test_a_page_or_an_order_that_is_none_is_refused(pair: tuple[str, str], message: str) -> None:
    with pytest.raises(BadUsage, match=message):
        read_form([pair])


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ({"since": "soon"}, "no time for “since”"),
        ({"as_of": "x" * 5000}, "no time for “as of”"),
        ({"since": "2026-03-02", "until": "2026-03-01"}, "“until” ends at 2026-03-02 00:00"),
        ({"since": "2026-03-02", "as_of": "2026-02"}, "“as of” ends at"),
    ],
)
def test_a_time_that_cannot_be_is_refused(pairs: dict[str, str], message: str) -> None:
    with pytest.raises(BadUsage, match=message):
        read_form(pairs.items()).selection(NOW)


@given(st.lists(st.tuples(st.sampled_from(FIELDS), st.text(max_size=30)), max_size=12))
def test_a_form_is_read_or_refused_and_its_own_parameters_give_it_again(
    pairs: list[tuple[str, str]],
) -> None:
    try:
        form = read_form(pairs)
        form.selection(NOW)
    except BadUsage:
        return
    assert read_form(form.pairs()) == form
    assert read_form(form.pairs(page=form.page + 1)).page == form.page + 1
    assert read_form(form.pairs(page=1)).order in Order
