"""Conditions that very many turns meet: they are compared with the hits, not with all words."""

import numpy as np
import pytest

from turnetl.index.lexical import LexicalIndex, TurnTerms
from turnetl.index.port import Field, Keys

TURNS = 21_000
"""More than are part of a query for words."""


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> LexicalIndex:
    folder = tmp_path_factory.mktemp("index") / "lexical"
    folder.mkdir()
    opened = LexicalIndex(folder, create=True)
    # The first turns are the best: their texts are the shortest ones.
    texts = ["basket" if key <= TURNS // 30 else "basket of a shop" for key in range(TURNS)]
    fields = (Field.TEXT, Field.PROMPT, Field.FACTS)
    opened.add(
        [TurnTerms(key, dict.fromkeys(fields, text), [text]) for key, text in enumerate(texts, 1)],
        0,
    )
    return opened


def every(keys: Keys) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    return np.ones(len(keys), dtype=np.bool_)


@pytest.mark.full
@pytest.mark.parametrize("field", list(Field))
@pytest.mark.parametrize("left_out", [1, TURNS // 30])
def test_of_very_many_selected_turns_only_they_are_found(
    words: LexicalIndex, field: Field, left_out: int
) -> None:
    selected = np.arange(left_out + 1, TURNS + 1)
    found = words.term_shares(field, {"basket": 1.0}, 50, every, selected)
    assert len(found) == 50
    assert min(found) > left_out
