"""The token estimate, compared with a tokenizer that needs no network."""

import json
from importlib.resources import files

import polars as pl
import pytest
from tokenizers import Tokenizer

from turnetl.base import ids
from turnetl.episodes.chunking import TOKEN_WEIGHT, estimate_expr, estimate_tokens, token_weights

_NAME = "l2_supercat_tokenizer_config.json"

SAMPLES = {
    "prose": "The checkout test fails because the cart was empty; the fixture forgot an item. "
    * 20,
    "German": "Der Test schlägt fehl, weil der Wagen leer war; größere Änderungen sind nötig. "
    * 20,
    "Chinese": "购物车测试失败是因为夹具忘记了一个项目。" * 20,
    "Japanese": "チェックアウトのテストが失敗するのは、カートが空だったからです。" * 20,
    "Arabic": "فشل اختبار الدفع لأن السلة كانت فارغة. " * 20,
    "Hindi": "परीक्षण विफल रहता है क्योंकि गाड़ी खाली थी। " * 20,
    "code": "def total(cart: Cart) -> Decimal:\n    return sum(item.price for item in cart)\n" * 20,
    "JSON": json.dumps([{"id": number, "name": f"row{number}"} for number in range(90)]),
    "paths": "/home/dev/shop/src/components/cart/CartItem.test.tsx:120:14 " * 20,
    "a log": "2026-03-02T09:00:00.123Z INFO [worker-3] processed 1234 rows in 56.7ms\n" * 20,
    "hexadecimal": ids.digest("hexadecimal") * 30,
    "digits": "3141592653589793" * 60,
    "constants": "MAX_RETRIES_PER_GROUP = DEFAULT_TIMEOUT_SECONDS " * 20,
}


def estimated(text: str) -> int:
    return int(estimate_tokens(pl.Series([text]))[0])


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_str((files("wordllama") / "tokenizers" / _NAME).read_text("utf-8"))


def test_the_estimate_is_within_a_third_of_a_tokenizers_count(
    subtests: pytest.Subtests, tokenizer: Tokenizer
) -> None:
    for kind, sample in SAMPLES.items():
        with subtests.test(kind=kind):
            count = len(tokenizer.encode(sample, add_special_tokens=False).ids)
            assert count * 2 / 3 < estimated(sample) < count * 4 / 3


@pytest.mark.parametrize(
    "text",
    [
        "체크아웃 테스트가 실패하는 이유는 장바구니가 비어 있기 때문입니다. " * 20,
        "Тест оформления заказа не проходит, потому что корзина была пуста. " * 20,
        "😀🎉🚀👍🏽" * 60,
        "qJx9Zk3vTm7LpW2sRb8Yc5NdF4hGaE6u" * 20,
        "\n" * 500,
    ],
)
def test_the_estimate_of_unusual_texts_is_within_a_factor(tokenizer: Tokenizer, text: str) -> None:
    count = len(tokenizer.encode(text, add_special_tokens=False).ids)
    assert count / 2.1 < estimated(text) < count * 2.6


@pytest.mark.full
def test_each_text_is_estimated_independently() -> None:
    texts = ["word", None, "", "Word", "购", "7", "", "😀 a"] * 900
    table = pl.DataFrame({"text": texts}).select(estimate_expr(pl.col("text")))
    assert table["text"].to_list() == [0 if text is None else estimated(text) for text in texts]
    assert table.schema["text"] == pl.Int64


def test_no_byte_weighs_more_than_a_token() -> None:
    for text in ("A1" * 50, "购物", "😀", "a.B.c", "\n \n", "é1é1"):
        assert int(token_weights(text.encode()).sum()) <= TOKEN_WEIGHT * len(text.encode())


def test_an_empty_series_and_an_empty_text_have_no_tokens() -> None:
    assert estimate_tokens(pl.Series("text", [], dtype=pl.String)).to_list() == []
    assert pl.LazyFrame({"text": ["", "a"]}).select(estimate_expr(pl.col("text"))).collect()[
        "text"
    ].to_list() == [0, 1]
