"""The format that CONTRIBUTING.md shows keeps the promises that every format makes."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.formats import test_known as contract
from turnetl import formats
from turnetl.formats.base import Format, Probe
from turnetl.model import ClosedBy
from turnetl.skip_reasons import SkipReason

PAGE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
PROMISES = [
    pytest.param(promise, id=name)
    for name, promise in inspect.getmembers(contract, inspect.isfunction)
    if name.startswith("test_") and [*inspect.signature(promise).parameters] == ["known", "path"]
    if promise is not contract.test_an_archive_is_told_by_its_content
]


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


@pytest.fixture
def jot() -> Format:
    shown = ModuleType("jot")
    exec(compile(block("python"), "CONTRIBUTING.md", "exec"), shown.__dict__)  # noqa: S102  ours
    made: Format = shown.__dict__["Jot"]()
    return made


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_text(block("jsonl"), encoding="utf-8")
    return path


@pytest.mark.parametrize("promise", PROMISES)
def test_the_format_that_is_shown_keeps_the_promises_of_all(
    promise: Callable[..., Any], jot: Format, sample: Path
) -> None:
    promise(jot, sample)


def test_the_format_that_is_shown_knows_its_sample_and_nothing_else(
    jot: Format, sample: Path
) -> None:
    assert jot.sniff(Probe(sample.read_bytes()))
    assert formats.sniff(sample.read_bytes()) is None
    others = (path for path in contract.SMALL.glob("*/*") if path.is_file())
    assert not [path for path in others if jot.sniff(Probe(path.read_bytes()))]


def test_the_format_that_is_shown_reads_its_sample(jot: Format, sample: Path) -> None:
    reading = jot.read(sample.read_bytes())
    first, second = reading.turns
    assert (first.user_text, first.assistant_texts) == (
        "Which tests fail?",
        ["Two of them, both in the cart."],
    )
    assert (first.closed_by, second.closed_by) == (ClosedBy.NEXT_PROMPT, None)
    assert reading.counts.skipped == {
        SkipReason.PREAMBLE: 1,
        SkipReason.OTHER: 1,
        SkipReason.BLANK: 1,
        SkipReason.INVALID_JSON: 1,
    }


def test_everything_that_the_page_names_is_there() -> None:
    assert PROMISES
    root = Path(__file__).parents[2]
    named = re.findall(r"`((?:turnetl|tests)/[\w/.]+?)/?`", PAGE)
    missing = [name for name in named if "jot" not in name and not (root / name).exists()]
    assert named
    assert not missing
