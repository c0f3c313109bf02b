"""A query about a subject that never came up has no hits; one about a real turn keeps them."""

import asyncio
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.retrieval.test_stages import EMBEDDER, Said, contents, indexed
from turnetl.base.terms import Tokenizer
from turnetl.index.persistent import PersistentIndex
from turnetl.retrieval.match import FEW_TURNS, Match, missing_words, query_words
from turnetl.retrieval.search import Hits, Order, combine_hits, search

SUBJECTS = {
    "cart": Said("user: Why does the checkout test fail?\n\nassistant: The cart was empty."),
    "tax": Said("user: Add tax for Norway\n\nassistant: `compute_tax()` in src/tax_rates.py."),
    "walrus": Said("user: feed the walrus\n\nassistant: The walrus got fish from the pool."),
    "crash": Said(
        "user: it crashes\n\nassistant: `KeyError: 'price'` in cart.py was raised because the "
        "migration renamed a column. The column has its old name again."
    ),
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


@pytest.mark.parametrize(
    ("query", "text", "missing"),
    [
        ("what did we decide about the ingress?", "We decided on nginx.", "ingress"),
        ("Why doesn't it ever happen again", "", ""),
        ("the colour of our organisation's favourites", "color, organization, favorites", ""),
        ("Canceled modeling, center, analyzes", "cancelled modelling centre analyses", ""),
        ("failing tests of libraries", "the library test failed", ""),
        ("to-do list, sign-on, CartTotal", "todo lists; sign on; cart_total", ""),
        ("src/cart_total.py", "src/cart_total.py was read", ""),
        ("src/cart_total.py", "the cart", "src/cart_total.py"),
        ("resume the CAFÉ in Zürich", "résumé of the cafe in Zurich", ""),
        ("wie haben wir die Datenbankmigration gelöst", "Migration der Datenbank", "gelöst"),
        ("warum fehlen die Rechnungen der Migration", "Rechnung, Datenbankmigration", "fehlen"),
        ("数据库迁移失败的原因是什么", "我们修复了数据库迁移的失败", ""),
        ("支付回调为什么会重复", "他为什么在地上", "支付回调 重复"),
        ("本番環境のデータベースについて何を", "データベースを決めた", "本番環境"),
        ("請求書のPDFが", "the invoice", "請求書 PDF"),
        ("ошибка миграции", "ошибки и миграция", ""),
        ("데이터베이스를 이전", "데이터베이스가 느리다", "이전"),
        ("kafka? Kafka! KAFKA", "rabbit", "kafka"),
        ("e s t 7", "", ""),
    ],
)
def test_missing_words_are_those_that_name_a_subject_and_have_no_form_in_the_text(
    query: str, text: str, missing: str
) -> None:
    words = query_words(query, Tokenizer())
    assert " ".join(missing_words(words, text, Tokenizer())) == missing


async def test_hits_that_lack_words_of_the_query_name_them_and_weak_ones_are_marked(
    index: PersistentIndex,
) -> None:
    found = await search(index, "which format has the walrus of the zeppelin", EMBEDDER)
    assert found.hits[0].match is Match.STRONG
    assert all("zeppelin" in hit.missing_words for hit in found.hits)
    weak = [hit for hit in found.hits if hit.match is Match.WEAK]
    assert weak
    assert all(hit.missing_words for hit in weak)
    together = combine_hits(found, Hits(), order=Order.SCORE, limit=10)
    assert together.missing_words == ("zeppelin",)


async def test_without_hits_the_words_that_the_nearest_turns_lack_are_named(
    index: PersistentIndex,
) -> None:
    found = await search(index, "the quasar page of the marmalade step", EMBEDDER)
    assert combine_hits(found, Hits(), order=Order.SCORE, limit=3).missing_words == (
        "quasar",
        "marmalade",
    )
    quoted = await search(index, '"the zeppelin is late"', EMBEDDER)
    assert quoted.missing_words == ("the zeppelin is late",)


TRACE = """Traceback (most recent call last):
  File "/home/me/shop/app.py", line 12, in main
    total = cart["price"]
  File "/usr/lib/python3.11/collections/__init__.py", line 1004, in __getitem__
KeyError: 'price'
"""


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("x", None),
        ("C", None),
        ("checkout " * 1_200, "checkout"),
        ("\u0000 \u202e checkout test \ud800", "checkout"),
        ("the of and why what", None),
        ('""', None),
        ('"', None),
        ('" " "" \'\'', None),
        ("?!.,;:", None),
        ("checkout 购物车 корзина", "购物车"),
        ("src/tax_rates.py", "tax"),
        ("/home/me/src/tax_rates.py:17", "tax"),
        (TRACE, "KeyError"),
        (TRACE.replace("\n", " "), "KeyError"),
        (r"^compute_(tax|toll)\(.*\)$", "tax"),
        ("(?P<a>[", None),
        ("%s {} $HOME `date`", None),
    ],
)
async def test_any_text_may_be_a_query(
    index: PersistentIndex, query: str, first: str | None
) -> None:
    found = await search(index, query, EMBEDDER, nearest=first is not None)
    for hit in found.hits:
        text, ends = hit.snippet.text, [end for span in hit.snippet.highlights for end in span]
        assert ends == sorted(ends)
        assert not ends or 0 <= ends[0] <= ends[-1] <= len(text)
        assert "".join(part for part, _ in hit.snippet.parts()) == text
    if first is not None:
        best = found.hits[0]
        said = f"{best.prompt} {best.snippet.text} {best.passage}".casefold()
        assert first.casefold() in said


@pytest.mark.parametrize(
    ("query", "snippet"),
    [
        ("why was the KeyError raised in cart.py", "raised because the migration"),
        ("which fish did the walrus get", "The walrus got fish from the pool."),
        ("KeyError column", "KeyError: 'price'"),
        ("购物车 清空", "购物车被清空了"),
    ],
)
async def test_a_snippet_is_the_sentence_that_answers_with_its_words_marked(
    index: PersistentIndex, query: str, snippet: str
) -> None:
    best = (await search(index, query, EMBEDDER)).hits[0].snippet
    assert snippet in best.text
    assert any(is_match for _, is_match in best.parts())
