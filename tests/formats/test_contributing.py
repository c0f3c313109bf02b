"""The example format in CONTRIBUTING.md satisfies the contract of all formats."""

import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.formats import test_contract as contract
from tests.formats.test_real_archives import COUNTED
from turnetl import formats
from turnetl.base.model import ClosedBy
from turnetl.base.reason import SkipReason
from turnetl.formats import Format
from turnetl.formats.port import Probe

PAGE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
PROMISES = [
    pytest.param(promise, id=name)
    for name, promise in inspect.getmembers(contract, inspect.isfunction)
    if name.startswith("test_") and [*inspect.signature(promise).parameters] == ["format_", "path"]
    if promise is not contract.test_an_archive_is_recognised_by_its_content
]


def code_block(language: str) -> str:
    block = re.search(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert block is not None
    return block[1]


@pytest.fixture
def jot(monkeypatch: pytest.MonkeyPatch) -> Format:
    module = ModuleType("turnetl.formats.jot")
    source = code_block("python")
    exec(compile(source, "CONTRIBUTING.md", "exec"), module.__dict__)  # noqa: S102  our own text
    monkeypatch.setitem(sys.modules, module.__name__, module)
    (example,) = eval(f"({code_block('text')})", {"Format": Format})  # noqa: S307  as above
    assert isinstance(example, Format)
    return example


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_text(code_block("jsonl"), encoding="utf-8")
    return path


@pytest.mark.parametrize("promise", PROMISES)
def test_the_example_format_satisfies_the_contract(
    promise: Callable[..., Any], jot: Format, sample: Path
) -> None:
    promise(jot, sample)


def test_the_example_format_recognises_its_sample_and_nothing_else(
    jot: Format, sample: Path
) -> None:
    assert jot.sniff(Probe(sample.read_bytes()))
    assert formats.sniff(sample.read_bytes()) is None
    others = (path for path in contract.ARCHIVES.glob("*/*") if path.is_file())
    assert not [path for path in others if jot.sniff(Probe(path.read_bytes()))]


def test_the_example_format_reads_its_sample(jot: Format, sample: Path) -> None:
    parsed = jot.read(sample.read_bytes())
    first, second = parsed.turns
    assert (first.user_text, first.assistant_texts) == (
        "Which tests fail?",
        ["Two of them, both in the cart."],
    )
    assert (first.closed_by, second.closed_by) == (ClosedBy.NEXT_PROMPT, None)
    assert parsed.counts.skipped == {
        SkipReason.PREAMBLE: 1,
        SkipReason.OTHER: 1,
        SkipReason.BLANK: 1,
        SkipReason.INVALID_JSON: 1,
    }


def test_the_page_names_the_columns_of_expected_counts() -> None:
    columns = PAGE.partition("with the\ncolumns ")[2].partition(". ")[0]
    assert re.findall(r"`(\w+)`", columns) == ["path", "format", *COUNTED]


def test_every_path_on_the_page_exists() -> None:
    assert PROMISES
    root = Path(__file__).parents[2]
    named = re.findall(r"`((?:turnetl|tests)/[\w/.]+?)/?`", PAGE)
    missing = [name for name in named if "jot" not in name and not (root / name).exists()]
    assert named
    assert not missing
