"""A writer may be killed before any of its writes: readers and the next writer see no trace."""

import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.index.indexed_shop import (
    EMBEDDER,
    NOW,
    Killed,
    after,
    answers,
    before,
    open_index,
    turn,
    written_index,
)
from turnetl.index.port import Field

STEPS = (
    "vectors/keys",
    "vectors/weights",
    "vectors/vectors",
    "vectors/heads",
    "vectors/scales",
    "vectors/starts",
    "vectors/tokens",
    "lexical/turns",
    "lexical/passages",
    "catalog",
    "lexical/turns",
    "lexical/passages",
    "removed words",
    "catalog",
    "lexical/turns",
    "lexical/passages",
    "removed words",
)
"""The writes of a catch-up from `before` to `after`: a batch, and the removal of a turn."""


BETWEEN = (["cart", "tax"], ["cart", "docs", "refund", "tax"], ["docs", "refund", "tax"])
"""The turns before, between and after the two transactions."""


class Steps:
    """Counts the steps of a writer, and ends it before one of them."""

    def __init__(self, last: int | None = None) -> None:
        self.names: list[str] = []
        self._last = last

    def __call__(self, name: str) -> None:
        if len(self.names) == self._last:
            raise Killed
        self.names.append(name)


@pytest.fixture(scope="module")
async def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an index of `before`; it is copied, never written."""
    return await written_index(tmp_path_factory.mktemp("indexed") / "index")


@pytest.fixture(scope="module")
async def expected(tmp_path_factory: pytest.TempPathFactory, indexed: Path) -> dict[str, Any]:
    """Return what the index answers after a catch-up that nothing stopped."""
    folder = tmp_path_factory.mktemp("expected") / "index"
    shutil.copytree(indexed, folder)
    steps = Steps()
    index = open_index(folder, before_step=steps)
    await index.catch_up(after(), EMBEDDER, now=NOW)
    assert tuple(steps.names) == STEPS
    found = await answers(index)
    index.close()
    return found


async def killed_before(step: int, folder: Path) -> None:
    """Stop a catch-up before a step."""
    with closing(open_index(folder, before_step=Steps(step))) as writer, pytest.raises(Killed):
        await writer.catch_up(after(), EMBEDDER, now=NOW)


@pytest.mark.parametrize("step", range(len(STEPS)), ids=lambda step: f"{step}-{STEPS[step]}")
async def test_the_next_catch_up_gives_the_same_as_one_that_nothing_stopped(
    step: int, indexed: Path, expected: dict[str, Any], tmp_path: Path
) -> None:
    folder = tmp_path / "index"
    shutil.copytree(indexed, folder)
    await killed_before(step, folder)
    index = open_index(folder)
    found = await answers(index)
    assert found["selected"] in BETWEEN
    assert _with_words(found) == set(found["selected"])
    await index.catch_up(after(), EMBEDDER, now=NOW)
    assert await answers(index) == expected
    index.close()


@pytest.mark.parametrize("step", [6, 8])
async def test_a_smaller_batch_after_the_kill_leaves_no_trace_of_the_larger_one(
    step: int, indexed: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "index"
    shutil.copytree(indexed, folder)
    untouched = open_index(indexed)
    expected = await answers(untouched)
    untouched.close()
    await killed_before(step, folder)
    index = open_index(folder)
    await index.catch_up(before(), EMBEDDER, now=NOW)
    assert await answers(index) == expected
    index.close()


async def test_a_removal_that_was_killed_before_its_commit_does_not_stop_the_next_one(
    indexed: Path, tmp_path: Path
) -> None:
    """Tantivy gives the same name to the list of removed words of both."""
    folder = tmp_path / "index"
    shutil.copytree(indexed, folder)
    with closing(open_index(folder)) as index:
        index.forget([turn("cart")])
    # Everything is as before, but for new files and the list of them, which tantivy writes first.
    shutil.copytree(
        indexed, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".managed.json")
    )
    with closing(open_index(folder)) as index:
        index.forget([turn("cart")])
        assert (await answers(index))["selected"] == ["tax"]


async def test_a_reader_with_open_files_sees_what_was_committed_meanwhile(
    indexed: Path, expected: dict[str, Any], tmp_path: Path
) -> None:
    folder = tmp_path / "index"
    shutil.copytree(indexed, folder)
    reader, writer = open_index(folder), open_index(folder)
    assert (await answers(reader))["selected"] == ["cart", "tax"]
    await writer.catch_up(after(), EMBEDDER, now=NOW)
    assert await answers(reader) == expected
    writer.forget([turn("docs")])
    assert (await answers(reader))["selected"] == ["refund", "tax"]
    assert _with_words(await answers(reader)) == {"refund", "tax"}
    reader.close()
    writer.close()


async def test_a_reader_is_right_between_any_two_writes(indexed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    shutil.copytree(indexed, folder)
    reader = open_index(folder)
    seen = []

    def read(_step: str) -> None:
        seen.append(reader.term_shares(Field.TEXT, {"norway": 1.0}, None, limit=1))

    writer = open_index(folder, before_step=read)
    await writer.catch_up(after(), EMBEDDER, now=NOW)
    assert len(seen) == len(STEPS)
    assert all(len(found) == 1 for found in seen)
    reader.close()
    writer.close()


def _with_words(found: dict[str, Any]) -> set[str]:
    """Return the turns that are found by any term of their text."""
    of_text = [of_term for (field, _), of_term in found["terms"].items() if field is Field.TEXT]
    return {name for of_term in of_text for name in of_term}
