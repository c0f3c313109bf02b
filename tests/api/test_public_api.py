"""The public API: what `turnetl.__all__` lists, documented, typed and imported lazily."""

import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import turnetl
from turnetl.errors import BadUsage, TurnetlError

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "python-api.md").read_text()
HEAVY = {"graphiti_core", "httpx", "neo4j", "polars", "prefect", "pyarrow", "pydantic", "rich"}


def test_every_public_name_is_documented_and_every_documented_name_is_public() -> None:
    rows = re.findall(r"^\| `(?:await )?(\w+)", PAGE, flags=re.MULTILINE)
    assert sorted({*rows, "errors"}) == sorted(turnetl.__all__)
    assert "`errors`" in PAGE


@pytest.mark.parametrize("name", turnetl.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    value = getattr(turnetl, name)
    assert inspect.getdoc(value)


@pytest.mark.parametrize(
    "name", ["backfill", "filter", "ingest", "load_settings", "parse", "search", "status"]
)
def test_a_documented_signature_names_every_parameter(name: str) -> None:
    documented = re.search(rf"^\| `(?:await )?{name}\((.*?)\)` \|", PAGE, flags=re.MULTILINE)
    assert documented
    names = re.findall(r"(?:^|, )\*{0,2}(\w+)", documented[1])
    assert names == list(inspect.signature(getattr(turnetl, name)).parameters)


def test_importing_turnetl_imports_no_dependency() -> None:
    code = "import sys, turnetl; print(*(name.partition('.')[0] for name in sys.modules))"
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert not HEAVY & set(process.stdout.split())


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="`backfil`"):
        turnetl.backfil  # noqa: B018 - the access is the point


def test_the_documented_example_prints_what_the_page_shows(tmp_path: Path) -> None:
    code, printed = re.findall(r"```(?:python|text)\n(.*?)```", PAGE, flags=re.DOTALL)
    shutil.copytree(ROOT / "data" / "archives", tmp_path / "data" / "archives")
    process = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "PATH": ""},
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout == printed


async def test_the_functions_raise_the_public_errors(tmp_path: Path) -> None:
    settings = turnetl.Settings(lake=tmp_path)
    with pytest.raises(BadUsage, match="clay_tablets"):
        turnetl.parse([tmp_path], settings, format_name="clay_tablets")
    with pytest.raises(TurnetlError, match="no group"):
        await turnetl.status(settings, turnetl.RunOptions(groups=("nowhere",)))
