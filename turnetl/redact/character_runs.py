"""Runs of the characters of which tokens consist, found in all texts together.

numpy, as polars extracts six times as many runs to find those with a digit, in a third more time.
"""

from collections.abc import Iterator

import numpy as np

_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+/_-"
_LETTER, _DIGIT = 1, 2
_KINDS = bytes(
    _LETTER if byte in _LETTERS else _DIGIT if byte in b"0123456789" else 0 for byte in range(256)
)
_PIECE_BYTES = 1 << 20
"""Bytes in a piece: the places where runs start and end may take eight times as much."""


def runs_with_digits(data: bytes, min_bytes: int, max_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield start and end of each run of letters, digits and `+/_-` that has a digit, in order.

    `max_bytes` is below 256.
    """
    kinds = data.translate(_KINDS)
    first = 0
    while first < len(kinds):
        # A piece ends where no run can: a run belongs to one piece.
        end = kinds.find(0, first + _PIECE_BYTES) + 1 or len(kinds)
        yield from _runs(
            np.frombuffer(kinds, np.uint8, end - first, first), first, (min_bytes, max_bytes)
        )
        first = end


def _runs(
    kinds: "np.ndarray[tuple[int], np.dtype[np.uint8]]", first: int, bounds: tuple[int, int]
) -> Iterator[tuple[int, int]]:
    min_bytes, max_bytes = bounds
    # Whether the next 2, 4, 8 ... bytes are in a run, too: the edges of few runs are left to find.
    starts_run, length = kinds != 0, 1
    while length < min_bytes:
        step = min(length, min_bytes - length)
        starts_run = starts_run[:-step] & starts_run[step:]
        length += step
    edges = np.flatnonzero(np.diff(starts_run, prepend=False, append=False))
    starts, ends = edges[::2], edges[1::2] + (min_bytes - 1)
    selected = ends - starts <= max_bytes
    if not selected.any():
        return
    starts, ends = starts[selected], ends[selected]
    # The end of the last run may be the end of the data, where no sum can start.
    digits = np.append(kinds == _DIGIT, [False]).view(np.uint8)
    sums = np.add.reduceat(digits, np.stack([starts, ends], axis=1).ravel(), dtype=np.uint8)[::2]
    with_digits = sums > 0
    yield from zip(
        (starts[with_digits] + first).tolist(), (ends[with_digits] + first).tolist(), strict=True
    )
