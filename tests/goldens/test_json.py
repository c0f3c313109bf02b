"""What every command prints with `--json`, in journeys from the first command to the last."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.goldens.cases import JOURNEYS, GoldenCase
from tests.goldens.commands import json_file
from tests.goldens.golden_files import GoldenFiles
from tests.goldens.journeys import PrintedCase, plain_output, printed_by
from tests.goldens.plain import written
from tests.web.serving_process import serving_process
from turnetl.base.clock import now
from turnetl.base.results import plain
from turnetl.prefect_report import (
    DoctorFinding,
    DoctorReport,
    FindingKind,
    ServerObjectKind,
    SetupChange,
    SetupItem,
    SetupReport,
)

CASES = [
    pytest.param(name, case, id=case.file) for name, cases in JOURNEYS.items() for case in cases
]

POOL = SetupItem(ServerObjectKind.WORK_POOL, "turnetl", SetupChange.CREATED, "process")
ZOMBIE = DoctorFinding(
    FindingKind.ZOMBIE_RUN, "calm-owl", "no sign of life for 20 min", "set it to crashed", True
)
PREFECT = {
    "prefect setup": SetupReport("turnetl", (POOL,)),
    "prefect doctor": DoctorReport("0.1.0", 1, 2, (ZOMBIE,)),
}
"""From reports: a server would take longer than all journeys. See `tests/prefect`."""


@pytest.fixture(scope="module")
def structural(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, PrintedCase]:
    return printed_by("structural", tmp_path_factory.mktemp("structural"))


@pytest.fixture(scope="module")
def canned_model(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, PrintedCase]:
    return printed_by("canned_model", tmp_path_factory.mktemp("canned_model"))


@pytest.fixture(scope="module")
def migration(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, PrintedCase]:
    return printed_by("migration", tmp_path_factory.mktemp("migration"))


@pytest.mark.parametrize(("journey", "case"), CASES)
def test_the_output_of_a_journey_is_the_golden(
    journey: str, case: GoldenCase, golden: GoldenFiles, request: pytest.FixtureRequest
) -> None:
    printed = request.getfixturevalue(journey)[case.file]
    assert printed.result.exit_code == case.code, printed.result.stderr
    golden.check(case.file, printed.text)


def test_the_address_of_the_pages_is_the_golden(golden: GoldenFiles, tmp_path: Path) -> None:
    since = now()
    with serving_process("--json", folder=tmp_path) as serving:
        result = serving.stop()
    assert result.exit_code == 0, result.stderr
    golden.check(json_file("serve"), plain_output(result, tmp_path, since))


@pytest.mark.parametrize("command", PREFECT)
def test_the_output_about_a_server_of_prefect_is_the_golden(
    command: str, golden: GoldenFiles
) -> None:
    golden.check(json_file(command), written(plain(PREFECT[command])))
