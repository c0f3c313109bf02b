"""Estimate the tokens of a text from its bytes alone, in any language.

A tokenizer begins a new token where the class of character changes (word, number, punctuation) and
has long tokens for words only. So the weight of a byte depends on its class and on that of the byte
before it. The estimate is within a third of a tokenizer with 32,000 tokens for prose, code, logs,
JSON, Chinese, Japanese, Arabic, Hindi, German, hexadecimal digits and base64, and too high for
Cyrillic; for Korean, emoji and words of no language that tokenizer needs up to three times as many.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

Weights = NDArray[np.uint8]

TOKEN_WEIGHT = 20
"""The weight of one token."""

_LOWER, _UPPER, _DIGIT, _PUNCTUATION, _SPACE, _BREAK, _LEAD, _LEAD4, _REST = range(9)
"""Classes of bytes. Outside ASCII: the first byte of a character, the first byte of a character of
four bytes (emoji and rare scripts), and all other bytes."""
_SHIFT = 4


def _byte_classes() -> bytes:
    """Return the class of every byte value."""
    classes = bytearray([_PUNCTUATION] * 0x80 + [_REST] * 0x40 + [_LEAD] * 0x30 + [_LEAD4] * 0x10)
    classes[ord("a") : ord("z") + 1] = [_LOWER] * 26
    classes[ord("A") : ord("Z") + 1] = [_UPPER] * 26
    classes[ord("0") : ord("9") + 1] = [_DIGIT] * 10
    classes[ord(" ")] = _SPACE
    for byte in b"\t\n\r":
        classes[byte] = _BREAK
    return bytes(classes)


def _transition_weights() -> bytes:
    """Return the weight of every pair of classes: of the byte before, and of the byte itself."""
    weights = np.zeros((16, 16), dtype=np.uint8)
    weights[:, [_LOWER, _UPPER, _DIGIT, _PUNCTUATION]] = 15, 16, 18, 15
    weights[:, [_SPACE, _BREAK, _LEAD, _LEAD4, _REST]] = 1, 14, 14, 30, 5
    # Continuations: letters of a word, a capitalised word, digits of a number, punctuation.
    weights[[_LOWER, _UPPER, _DIGIT, _LEAD, _LEAD4, _REST], _LOWER] = 3, 6, 14, 3, 3, 5
    for byte_class, weight in ((_UPPER, 7), (_DIGIT, 14), (_PUNCTUATION, 10), (_BREAK, 10)):
        weights[byte_class, byte_class] = weight
    return weights.tobytes()


_CLASS = _byte_classes()
_WEIGHT = _transition_weights()
_TEXT_START = _SPACE << _SHIFT
"""The first byte of a text is counted as if a space preceded it."""
_BATCH_ROWS = 2000
"""Texts per batch, to bound the memory of the intermediate arrays."""


def estimate_expr(text: pl.Expr) -> pl.Expr:
    """Estimate the tokens of each text. Vectorised: about 200 MB per second."""
    return text.map_batches(estimate, return_dtype=pl.Int64, is_elementwise=True)


def estimate(texts: pl.Series) -> pl.Series:
    """Return the estimate for each text, rounded up; 0 for null."""
    strings = texts.cast(pl.String)
    counts = [
        _estimate_batch(strings.slice(start, _BATCH_ROWS))
        for start in range(0, len(strings), _BATCH_ROWS)
    ]
    tokens = np.concatenate(counts) if counts else np.zeros(0, dtype=np.int64)
    return pl.Series(texts.name, tokens, dtype=pl.Int64)


def weights(data: bytes) -> Weights:
    """Return the weight of each byte of a text in UTF-8; a token weighs `TOKEN_WEIGHT`."""
    return _weights(data, np.zeros(min(1, len(data)), dtype=np.int64))


def _estimate_batch(texts: pl.Series) -> NDArray[np.int64]:
    """Weigh the texts in one array, each independently; null weighs nothing."""
    ends = np.cumsum(texts.str.len_bytes().fill_null(0).to_numpy(), dtype=np.int64)
    starts = np.concatenate((np.zeros(1, dtype=np.int64), ends[:-1]))
    not_empty = ends > starts
    totals = np.zeros(len(texts), dtype=np.int64)
    if not_empty.any():
        data = "".join(texts.drop_nulls().to_list()).encode()
        byte_weights = _weights(data, starts[not_empty])
        totals[not_empty] = np.add.reduceat(byte_weights, starts[not_empty], dtype=np.int64)
    return -(-totals // TOKEN_WEIGHT)


def _weights(data: bytes, starts: NDArray[np.int64]) -> Weights:
    classes = np.frombuffer(data.translate(_CLASS), dtype=np.uint8)
    pairs = classes.copy()
    pairs[1:] |= classes[:-1] << _SHIFT
    pairs[starts] = classes[starts] | _TEXT_START
    return np.frombuffer(pairs.tobytes().translate(_WEIGHT), dtype=np.uint8)
