"""The public API: what `turnetl.__all__` lists, documented, typed and imported lazily."""

import dataclasses
import inspect
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

import turnetl
from tests.cli.command import ROOT, clean_environment
from turnetl.api.arguments import Conditions
from turnetl.base.errors import BadUsage, TurnetlError
from turnetl.index.conditions import CONDITIONS
from turnetl.ingestion.redo_report import GroupRedo, RedoSelection, RequestCounts
from turnetl.ingestion.undo_report import GroupUndo, UndoDiff, UndoneTurn
from turnetl.parsing.sources import HEAD_BYTES, ParseLimits

PAGE = (ROOT / "docs" / "python-api.md").read_text()
HEAVY = {"graphiti_core", "httpx", "neo4j", "polars", "prefect", "pyarrow", "pydantic", "rich"}
EXAMPLE, PRINTED, QUESTIONS, ANSWERS = re.findall(
    r"```(?:python|text)\n(.*?)```", PAGE, flags=re.DOTALL
)
FIELDS = {
    name: re.findall(r"`(\w+)`", cell)
    for name, cell in re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|$", PAGE, flags=re.MULTILINE)
}
"""The third column of the tables of types."""


ANSWER_TYPES = (
    turnetl.IndexAnswer,
    turnetl.TurnDetails,
    turnetl.SessionDetails,
    turnetl.EntityDetails,
    turnetl.FactDetails,
    turnetl.Timeline,
    turnetl.Digest,
    turnetl.ErrorHistory,
    turnetl.FileAuthorship,
)
FUNCTIONS = [name for name in turnetl.__all__ if inspect.isfunction(getattr(turnetl, name))]


REPORTS = (
    *(turnetl.BackfillReport, turnetl.SearchHit, turnetl.UndoReport, turnetl.RedoReport),
    *(turnetl.RunsReport, turnetl.StatusReport, turnetl.CommunityReport),
    turnetl.SummarizeReport,
    *(turnetl.PlanReport, turnetl.EstimatedMigration, turnetl.SourcesReport),
    *(turnetl.TemplateComparison, turnetl.EvaluationReport),
    *(turnetl.ExportReport, turnetl.ImportReport),
    *ANSWER_TYPES,
)


def test_every_public_name_is_documented_and_every_documented_name_is_public() -> None:
    rows = re.findall(r"^\| `(?:await )?(\w+)[`(]", PAGE, flags=re.MULTILINE)
    inside_reports = {kind.__name__ for report in REPORTS for kind in types_inside(report)}
    assert {*rows, "errors"} - set(turnetl.__all__) <= inside_reports
    assert set(turnetl.__all__) - {*rows, "errors"} == set()


def test_every_public_name_can_be_imported(subtests: pytest.Subtests) -> None:
    for name in turnetl.__all__:
        with subtests.test(name=name):
            value = getattr(turnetl, name)
            is_type_alias = name == "Progress"
            assert is_type_alias or inspect.getdoc(value)


def test_a_documented_signature_names_every_parameter(subtests: pytest.Subtests) -> None:
    for name in FUNCTIONS:
        with subtests.test(name=name):
            documented = re.search(
                rf"^\| `(?:await )?{name}\((.*?)\)` \|", PAGE, flags=re.MULTILINE
            )
            assert documented
            names = re.findall(r"(?:^|, )\*{0,2}(\w+)", documented[1])
            assert names == list(inspect.signature(getattr(turnetl, name)).parameters)


def test_the_documented_conditions_are_those_of_a_selection() -> None:
    (documented,) = re.findall(r"^`conditions` of [^:]+:", PAGE, flags=re.MULTILINE)
    names = re.findall(r"`(\w+)=", documented)
    assert names == list(Conditions.__annotations__)
    declared = {"format_name" if name == "format" else name for name in CONDITIONS}
    assert set(names) == declared


def types_inside(kind: Any, seen: tuple[type, ...] = ()) -> tuple[type, ...]:
    """Return a type with all types of turnetl that its fields name, directly or indirectly."""
    if kind in seen:
        return seen
    if isinstance(kind, type) and kind.__module__.startswith("turnetl") and list(members(kind)):
        seen = (*seen, kind)
        inner = tuple(get_type_hints(kind).values())
    else:
        inner = get_args(kind)
    for one in inner:
        seen = types_inside(one, seen)
    return seen


def members(kind: type) -> Iterator[str]:
    """Yield the public fields and properties of a type, in their order."""
    if dataclasses.is_dataclass(kind):
        yield from (field.name for field in dataclasses.fields(kind))
    elif issubclass(kind, msgspec.Struct):
        yield from (field.name for field in msgspec.structs.fields(kind))
    for one in reversed([one for one in kind.__mro__ if one.__module__.startswith("turnetl.")]):
        yield from (name for name, value in vars(one).items() if isinstance(value, property))


DOCUMENTED_TYPES = {
    inner.__name__: inner
    for kind in (turnetl.BackfillReport, turnetl.RunOptions, turnetl.SearchHit, *REPORTS)
    for inner in types_inside(kind)
} | {
    kind.__name__: kind
    for kind in (
        turnetl.ProgressUpdate,
        turnetl.UndoReport,
        GroupUndo,
        UndoneTurn,
        UndoDiff,
        turnetl.RedoReport,
        GroupRedo,
        RedoSelection,
        RequestCounts,
    )
}


def test_a_type_is_documented_with_all_its_fields_and_properties(subtests: pytest.Subtests) -> None:
    for name in DOCUMENTED_TYPES:
        with subtests.test(name=name):
            assert FIELDS[name] == list(members(DOCUMENTED_TYPES[name]))


def test_every_documented_error_exists_and_every_error_is_documented() -> None:
    table = PAGE.partition("## Errors")[2]
    rows = re.findall(r"^\| `(errors\.)?(\w+)` \|", table, flags=re.MULTILINE)
    defined = {
        name
        for name, value in vars(turnetl.base.errors).items()
        if isinstance(value, type) and issubclass(value, TurnetlError)
    }
    assert {name for _, name in rows} == defined
    assert {name for prefix, name in rows if not prefix} == defined & set(turnetl.__all__)


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
