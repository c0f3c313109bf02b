"""An estimate of the tokens of a text, from nothing but its bytes, that no language fools.

A tokenizer begins a new token where the kind of character changes (a word, a number, a sign) and
has long tokens for words only. So every byte weighs what its kind and that of the byte before say.
The weights lie within a third of a tokenizer of 32,000 words for prose, code, logs, JSON, Chinese,
Japanese, Arabic, Hindi, German, hexadecimal digits and base64, and are too high for Cyrillic; for
Korean, emoji and words of no language that tokenizer needs up to three times as many.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

Weights = NDArray[np.uint8]

TOKEN_WEIGHT = 20
"""What a token weighs."""

_LOWER, _UPPER, _DIGIT, _SIGN, _BLANK, _BREAK, _LEAD, _LEAD4, _REST = range(9)
"""Kinds of bytes; of what is not ASCII the first byte of a character (of four bytes: emoji and
rare scripts) and the others."""
_SHIFT = 4


def _kinds() -> bytes:
    kinds = bytearray([_SIGN] * 0x80 + [_REST] * 0x40 + [_LEAD] * 0x30 + [_LEAD4] * 0x10)
    kinds[ord("a") : ord("z") + 1] = [_LOWER] * 26
    kinds[ord("A") : ord("Z") + 1] = [_UPPER] * 26
    kinds[ord("0") : ord("9") + 1] = [_DIGIT] * 10
    kinds[ord(" ")] = _BLANK
    for sign in b"\t\n\r":
        kinds[sign] = _BREAK
    return bytes(kinds)


def _weights() -> bytes:
    """Return the weight of every pair of kinds: what was before, and what is."""
    weights = np.zeros((16, 16), dtype=np.uint8)
    weights[:, [_LOWER, _UPPER, _DIGIT, _SIGN]] = 15, 16, 18, 15
    weights[:, [_BLANK, _BREAK, _LEAD, _LEAD4, _REST]] = 1, 14, 14, 30, 5
    # What goes on: letters of one word, a capital's word, digits of one number, signs in a row.
    weights[[_LOWER, _UPPER, _DIGIT, _LEAD, _LEAD4, _REST], _LOWER] = 3, 6, 14, 3, 3, 5
    for kind, weight in ((_UPPER, 7), (_DIGIT, 14), (_SIGN, 10), (_BREAK, 10)):
        weights[kind, kind] = weight
    return weights.tobytes()


_KIND = _kinds()
_WEIGHT = _weights()
_START = _BLANK << _SHIFT
_ROWS = 2000
"""Texts weighed at once, so that what is in between stays small."""


def estimate_expr(text: pl.Expr) -> pl.Expr:
    """Estimate the tokens of each text. Vectorised: about 200 MB a second."""
    return text.map_batches(estimate, return_dtype=pl.Int64, is_elementwise=True)


def estimate(texts: pl.Series) -> pl.Series:
    """Return the estimate for each text, rounded up."""
    given = texts.cast(pl.String)
    counts = [_of_rows(given.slice(at, _ROWS)) for at in range(0, len(given), _ROWS)]
    whole = np.concatenate(counts) if counts else np.zeros(0, dtype=np.int64)
    return pl.Series(texts.name, whole, dtype=pl.Int64)


def weights(data: bytes) -> Weights:
    """Return the weight of each byte of a text in UTF-8; `TOKEN_WEIGHT` of it are a token."""
    return _weighed(data, np.zeros(min(1, len(data)), dtype=np.int64))


def _of_rows(texts: pl.Series) -> NDArray[np.int64]:
    """Weigh the texts as one, each as if it stood alone; null is nothing."""
    ends = np.cumsum(texts.str.len_bytes().fill_null(0).to_numpy(), dtype=np.int64)
    starts = np.concatenate((np.zeros(1, dtype=np.int64), ends[:-1]))
    here = ends > starts
    counts = np.zeros(len(texts), dtype=np.int64)
    if here.any():
        weighed = _weighed("".join(texts.drop_nulls().to_list()).encode(), starts[here])
        counts[here] = np.add.reduceat(weighed, starts[here], dtype=np.int64)
    return -(-counts // TOKEN_WEIGHT)


def _weighed(data: bytes, starts: NDArray[np.int64]) -> Weights:
    kinds = np.frombuffer(data.translate(_KIND), dtype=np.uint8)
    pairs = kinds.copy()
    pairs[1:] |= kinds[:-1] << _SHIFT
    pairs[starts] = kinds[starts] | _START
    return np.frombuffer(pairs.tobytes().translate(_WEIGHT), dtype=np.uint8)
