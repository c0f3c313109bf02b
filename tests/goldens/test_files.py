"""All goldens together: none is missing, none is left over, and all times are encoded alike."""

import json
from typing import Any

import pytest
from msgspec.structs import fields

from tests.goldens.cases import JOURNEYS
from tests.goldens.commands import RECIPES_FILE, commands, help_file, json_file, schema_file
from tests.goldens.golden_files import FILES, GoldenFiles
from tests.goldens.plain import times
from turnetl.base.result_schema import encoded_type
from turnetl.base.results import ErrorOutput
from turnetl.json_output.schemas import OUTPUTS

CASES = [case for journey in JOURNEYS.values() for case in journey]
WITH_SERVER = {json_file(name) for name in ("serve", "prefect setup", "prefect doctor")}
"""Not in a journey, but in `test_json.py`."""
EXPECTED = {
    RECIPES_FILE,
    *map(help_file, commands()),
    *map(schema_file, OUTPUTS),
    *(case.file for case in CASES),
    *WITH_SERVER,
}
KINDS = [(command, output) for command, outputs in OUTPUTS.items() for output in outputs]


def printed(file: str) -> dict[str, Any]:
    values = json.loads((FILES / file).read_text(encoding="utf-8"))
    assert isinstance(values, dict)
    return values


@pytest.fixture
def compared(golden: GoldenFiles) -> None:
    if golden.rewrite:
        pytest.skip("the goldens are being written")


def test_every_golden_belongs_to_a_case(golden: GoldenFiles) -> None:
    stale = sorted(golden.names() - EXPECTED)
    if golden.rewrite:
        for name in stale:
            (golden.folder / name).unlink()
        return
    assert not stale, "nothing prints these goldens any more: delete them"


def test_no_two_cases_have_the_same_golden() -> None:
    names = [case.file for case in CASES]
    assert sorted({*names}) == sorted(names)


@pytest.mark.usefixtures("compared")
def test_every_command_with_json_has_a_schema() -> None:
    with_json = {
        " ".join(command)
        for command in commands()
        if "│ --json " in (FILES / help_file(command)).read_text(encoding="utf-8")
    }
    assert with_json == set(OUTPUTS)


@pytest.mark.usefixtures("compared")
def test_every_object_that_a_command_prints_is_in_a_golden(subtests: pytest.Subtests) -> None:
    for command, output in KINDS:
        with subtests.test(command=command):
            keys = {field.encode_name for field in fields(encoded_type(output))}
            plain_name = json_file(command).removesuffix(".json")
            names = [
                name
                for name in EXPECTED
                if name.removesuffix(".json").partition("-")[0] == plain_name
            ]
            assert keys in [printed(name).keys() for name in names], (
                f"tests/goldens/cases.py needs a case in which `turnetl {command} --json` prints it"
            )


@pytest.mark.usefixtures("compared")
def test_errors_are_in_goldens() -> None:
    errors = {field.encode_name for field in fields(encoded_type(ErrorOutput))}
    codes = {
        printed(case.file)["exit_code"] for case in CASES if errors == printed(case.file).keys()
    }
    assert codes == {1, 2}


@pytest.mark.usefixtures("compared")
def test_every_time_in_a_golden_is_in_utc_with_the_same_offset() -> None:
    found = {
        time
        for file in FILES.glob("json/*.json")
        for time in times(json.loads(file.read_text(encoding="utf-8")))
    }
    assert len(found) > 50
    assert [time for time in sorted(found) if not time.endswith("+00:00")] == []
