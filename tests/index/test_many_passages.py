"""With very many passages, a first pass over a part of the dimensions loses no good hit."""

from pathlib import Path

import numpy as np
import pytest

from turnetl.index.vectors import MAX_MAPPED_BYTES, PassageRows, PassageVectors, ValidRows

DIMENSIONS = 32
ROWS = 210_000
PER_TURN = 3


@pytest.mark.full
@pytest.mark.parametrize("max_mapped", [0, MAX_MAPPED_BYTES])
def test_the_most_similar_turns_are_found_among_very_many(tmp_path: Path, max_mapped: int) -> None:
    chance = np.random.default_rng(7)
    vectors = chance.standard_normal((ROWS, DIMENSIONS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    query, near = vectors[0], np.arange(30_000, ROWS, 30_000)
    vectors[near] = query + vectors[near] * np.linspace(0.1, 0.4, len(near))[:, None]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    keys = np.arange(ROWS) // PER_TURN + 1
    opened = PassageVectors(tmp_path, DIMENSIONS, ValidRows(), max_mapped=max_mapped)
    tokens = [np.zeros(1, dtype=np.uint16)] * ROWS
    valid = opened.append(PassageRows(keys.tolist(), [1.0] * ROWS, vectors, tokens))
    opened.reload(valid, keys[near[:1]])
    expected = [1, *keys[near[1:]].tolist()]
    assert [*opened.best_per_turn(query, None, len(expected))] == expected
    most = np.unique(keys)[1:]
    assert [*opened.best_per_turn(query, most, len(expected) - 1)][1:] == expected[1:-1]
    opened.close()
