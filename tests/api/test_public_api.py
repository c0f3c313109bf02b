"""The public API: what `turnetl.__all__` lists, documented, typed and imported lazily."""

import inspect
import re
import shutil
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import turnetl
from docs.generate.api import reference, types_inside
from tests.cli.command import ROOT, clean_environment
from turnetl.api.arguments import Conditions
from turnetl.base.errors import BadUsage, TurnetlError
from turnetl.index.conditions import CONDITIONS
from turnetl.parsing.sources import HEAD_BYTES, ParseLimits

PAGE = (ROOT / "docs" / "python-api.md").read_text()
REFERENCE = reference()
HEAVY = {"graphiti_core", "httpx", "neo4j", "polars", "prefect", "pyarrow", "pydantic", "rich"}
EXAMPLE, PRINTED, QUESTIONS, ANSWERS = re.findall(
    r"```(?:python|text)\n(.*?)```", PAGE, flags=re.DOTALL
)
FUNCTIONS = [name for name in turnetl.__all__ if inspect.isfunction(getattr(turnetl, name))]
TYPES = [value for name in turnetl.__all__ if isinstance(value := getattr(turnetl, name), type)]


def test_every_public_name_can_be_imported(subtests: pytest.Subtests) -> None:
    for name in turnetl.__all__:
        with subtests.test(name=name):
            value = getattr(turnetl, name)
            is_type_alias = name == "Progress"
            assert is_type_alias or inspect.getdoc(value)


def test_every_public_name_and_error_is_in_the_reference() -> None:
    page = reference()
    sections = re.findall(r"^### (\w+)$", page, flags=re.MULTILINE)
    raised = re.findall(
        r"^\| `(?:errors\.)?(\w+)` \|", page.partition("## Errors")[2], re.MULTILINE
    )
    defined = {
        name
        for name, value in vars(turnetl.base.errors).items()
        if isinstance(value, type) and issubclass(value, TurnetlError)
    }
    assert set(raised) == defined
    assert set(turnetl.__all__) - {*sections, *raised} == {"errors", "Progress"}
    assert "`Progress`" in REFERENCE


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_describes_every_parameter(name: str) -> None:
    section = reference().partition(f"\n### {name}\n")[2].partition("\n### ")[0]
    described = re.findall(
        r"^- ((?:`\w+`(?:, )?)+):", section.partition("**Args:**")[2], re.MULTILINE
    )
    names = inspect.signature(getattr(turnetl, name)).parameters
    assert names.keys() <= set(re.findall(r"\w+", " ".join(described)))


@pytest.mark.parametrize("kind", types_inside(*TYPES), ids=lambda kind: str(kind.__name__))
def test_a_type_of_a_report_says_what_it_is(kind: type) -> None:
    assert not (inspect.getdoc(kind) or f"{kind.__name__}(").startswith(f"{kind.__name__}(")


def test_the_conditions_are_those_of_a_selection() -> None:
    declared = {"format_name" if name == "format" else name for name in CONDITIONS}
    assert set(Conditions.__annotations__) == declared


def test_importing_turnetl_imports_no_dependency() -> None:
    code = "import sys, turnetl; print(*(name.partition('.')[0] for name in sys.modules))"
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert not HEAVY & set(process.stdout.split())


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="`backfil`"):
        turnetl.backfil  # noqa: B018 - the access is the point


@pytest.mark.full
def test_the_documented_examples_print_what_the_page_shows(tmp_path: Path) -> None:
    process = run_script_with_workers(EXAMPLE, tmp_path)
    assert process.returncode == 0, process.stderr
    assert process.stdout == PRINTED
    process = run_script(QUESTIONS, tmp_path)
    assert process.returncode == 0, process.stderr
    assert process.stdout == ANSWERS


@pytest.mark.full
def test_without_a_guard_the_message_names_what_a_script_needs(tmp_path: Path) -> None:
    unguarded = EXAMPLE.replace('if __name__ == "__main__":', "if True:")
    process = run_script_with_workers(unguarded, tmp_path)
    assert process.returncode == 1
    assert 'below `if __name__ == "__main__":`' in process.stderr.splitlines()[-1]


def run_script_with_workers(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script beside the sample archives, and others so large that they need workers."""
    archives = folder / "data" / "archives"
    shutil.copytree(ROOT / "data" / "archives", archives)
    for number in range(2):
        with (archives / f"unknown-{number}.jsonl").open("wb") as file:
            # The head is enough to tell that the file is of no format: the rest is not read.
            file.write(f'{{"number": {number}}}\n'.encode() * (HEAD_BYTES // 10))
            file.truncate(ParseLimits().bytes_per_process)
    two_jobs = code.replace('Path("lake")', 'Path("lake"), jobs=2')
    assert two_jobs != code
    return run_script(two_jobs, folder)


def run_script(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "script.py").write_text(code)
    return subprocess.run(
        [sys.executable, "script.py"],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=clean_environment(folder),
    )


async def test_the_functions_raise_the_public_errors(tmp_path: Path) -> None:
    settings = turnetl.Settings(lake=tmp_path)
    with pytest.raises(BadUsage, match="clay_tablets"):
        turnetl.parse([tmp_path], settings, format_name="clay_tablets")
    with pytest.raises(TurnetlError, match="no group"):
        await turnetl.status(settings, turnetl.RunOptions(groups=("nowhere",)))
    with pytest.raises(BadUsage, match="does not exist"):
        turnetl.load_settings("nowhere.json")


@pytest.mark.parametrize("options", [{"limit": 0}, {"limit": -1}, {"reflexion": 4}])
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(BadUsage, match=str(*options.values())):
        turnetl.RunOptions(**options)


SHOEBOX = ROOT / "data" / "archives" / "shoebox"


@pytest.mark.parametrize("archives", [SHOEBOX, str(SHOEBOX), iter([SHOEBOX])], ids=type)
async def test_one_path_and_several_are_accepted(archives: Any, tmp_path: Path) -> None:
    settings = turnetl.Settings(lake=tmp_path)
    report = await turnetl.backfill(archives, settings, turnetl.RunOptions(dry_run=True))
    assert report.parsed.groups == ("shoebox",)
    assert len(turnetl.parse(str(SHOEBOX), settings).archives) == len(report.parsed.archives) == 3


@pytest.mark.full
@pytest.mark.parametrize("zone", [None, timezone(timedelta(hours=1))])
async def test_times_without_a_zone_are_utc(zone: timezone | None, tmp_path: Path) -> None:
    settings = turnetl.Settings(lake=tmp_path)
    # A turn of that archive begins at 11:30:15 UTC, which is 12:30:15 in the other zone.
    start = datetime(2026, 4, 19, 11 if zone is None else 12, 30, 15, tzinfo=zone)
    end = start + timedelta(seconds=1)
    assumed = turnetl.AssumedTime(start)
    options = turnetl.RunOptions(since=start, until=end, assumed_time=assumed)
    report = await turnetl.backfill(SHOEBOX / "2026-04-19-heic.jsonl", settings, options)
    hits = await turnetl.search("photos", settings, since=start, until=end)
    assert report.ingested.committed == len(hits) == 1
