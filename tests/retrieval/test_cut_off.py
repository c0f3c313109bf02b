"""A query about a subject that never came up has no hits; one about a real turn keeps them."""

import asyncio
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.retrieval.test_stages import EMBEDDER, Said, contents, indexed
from turnetl.index.persistent import PersistentIndex
from turnetl.retrieval.search import FEW_TURNS, search

SUBJECTS = {
    "cart": Said("user: Why does the checkout test fail?\n\nassistant: The cart was empty."),
    "tax": Said("user: Add tax for Norway\n\nassistant: `compute_tax()` in src/tax_rates.py."),
    "walrus": Said("user: feed the walrus\n\nassistant: The walrus got fish from the pool."),
    "chinese": Said("user: 购物车为什么是空的\n\nassistant: 会话过期 购物车被清空了。"),
    "russian": Said("user: Почему падает тест оплаты?\n\nassistant: Корзина была пустой."),
}
OTHERS = {
    f"t{number}": Said(
        f"user: which format has page {number} of the report\n\n"
        f"assistant: The report of step {number} is written to a file of its own."
    )
    for number in range(FEW_TURNS)
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PersistentIndex]:
    group = contents({**SUBJECTS, **OTHERS})
    with closing(asyncio.run(indexed(tmp_path_factory.mktemp("index"), group))) as opened:
        yield opened


@pytest.mark.parametrize(
    "query",
    [
        "which zeppelin report has the fjord format",
        "the quasar page of the marmalade step",
        "квантовая физика элементарных частиц",
    ],
)
async def test_common_words_around_a_foreign_subject_are_no_hits(
    index: PersistentIndex, query: str
) -> None:
    found = await search(index, query, EMBEDDER)
    assert (found.hits, found.distant > 0) == ((), True)
    assert len((await search(index, query, EMBEDDER, nearest=True)).hits) == found.distant


async def test_a_query_about_a_turn_keeps_its_hits(
    subtests: pytest.Subtests, index: PersistentIndex
) -> None:
    for query in [
        "why does the checkout test fail",
        "which fish did the walrus get",
        "compute_tax",
        "ComputeTaxes",
        "tax_rate",
        "walruses",
        "Norway",
        "购物车",
        "为什么购物车被清空",
        "购物车 空",
        "корзина",
        "почему тест оплаты падал",
        '"the cart was empty"',
        '"the cart was" zeppelin',
    ]:
        with subtests.test(query=query):
            assert (await search(index, query, EMBEDDER)).hits


async def test_among_few_turns_a_word_that_none_of_them_has_cuts_no_hits(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("few")
    with closing(await indexed(folder, contents(SUBJECTS))) as few:
        assert (await search(few, "the walrus in a zeppelin full of marmalade", EMBEDDER)).hits
