"""The points of a command, and a sample of them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TypeVar

Item = TypeVar("Item")

CHANGED = "changed "
"""The beginning of a line that says that a call changed something."""
WRITES = ("write", "pwrite", "pwrite64", "writev", "pwritev", "pwritev64")
_GROWTHS = {
    *WRITES,
    *("open", "open64", "openat", "openat64", "mkdir", "mkdirat", "link", "symlink"),
    *("fallocate", "fallocate64", "posix_fallocate", "posix_fallocate64"),
    *("sendfile64", "copy_file_range"),
}
"""`GROWTH` in `fault_points.c`."""
_GRAPH_LOG = "/graph.lbug.wal"


def changes_before(lines: Iterable[str]) -> list[int]:
    """Return for each point how many changes were before it.

    Args:
        lines: of points and changes, in their order.
    """
    changes, before = 0, []
    for line in lines:
        if line.startswith(CHANGED):
            changes += 1
        else:
            before.append(changes)
    return before


def call(point: str) -> str:
    """Return the system call, `resumption` or `suspension`."""
    return point.split(" ", 1)[0]


def place(point: str) -> str:
    """Return the file, or `port-N`; empty for a step of a task."""
    return point.split(" ")[1]


def is_write(point: str) -> bool:
    return call(point) in WRITES and place(point).startswith("/")


def is_file(point: str) -> bool:
    return place(point).startswith("/")


def is_growth(point: str) -> bool:
    """Return whether the call needs disk space."""
    return is_file(point) and call(point) in _GROWTHS


def is_socket(point: str) -> bool:
    return place(point).startswith("port-")


def in_transaction(points: Sequence[str], port: int | None) -> Iterator[int]:
    """Yield the points at which a transaction of the graph is written.

    Args:
        points: of a command.
        port: of the graph's server; None: the embedded graph.
    """
    wanted = _GRAPH_LOG if port is None else f"port-{port}"
    for number, point in enumerate(points, start=1):
        if place(point) == wanted and call(point) not in ("recv", "unlink", "remove"):
            yield number


def sample(
    points: Sequence[str], number: int, port: int | None, *, of: Callable[[str], bool] | None = None
) -> list[int]:
    """Return points at even distances; every second one is within a transaction, if there are any.

    Only `distinct` points are considered, outside of transactions.

    Args:
        points: of a command.
        number: of points to return, at most.
        port: of the graph's server; None: the embedded graph.
        of: only points with that property.
    """
    wanted = of or (lambda _: True)
    firsts = [number for number in distinct(points) if wanted(points[number - 1])]
    inside = [number for number in in_transaction(points, port) if wanted(points[number - 1])]
    within = spread(inside, number // 2)
    return sorted({*within, *spread(firsts, number - len(within))})


def spread(items: Sequence[Item], count: int) -> list[Item]:
    """Return that many of the items, at even distances."""
    if count <= 0:
        return []
    step = max(len(items) / count, 1)
    return [items[int((place + 0.5) * step)] for place in range(min(count, len(items)))]


def distinct(points: Sequence[str]) -> Iterator[int]:
    """Yield points that differ in what was written or sent before.

    Of steps of tasks in a row, and of the same calls on the same file in a row, it is the first.
    """
    for _, same in groupby(enumerate(points, start=1), key=lambda entry: _kind(entry[1])):
        yield next(same)[0]


def _kind(point: str) -> tuple[str, str]:
    return ("", "") if place(point) == "" else (call(point), place(point))
