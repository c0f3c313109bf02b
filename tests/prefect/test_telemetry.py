"""Prefect sends no usage statistics unless the user asks for them."""

import os
import subprocess
import sys

import pytest

from tests.prefect.conftest import ROOT

PROBE = """
import flows.backfill
from prefect.analytics import is_telemetry_enabled
from prefect.settings import get_current_settings
print(is_telemetry_enabled(), get_current_settings().server.analytics_enabled)
"""


@pytest.mark.full
@pytest.mark.parametrize(
    ("chosen", "printed"),
    [
        ({}, "False False"),
        ({"DO_NOT_TRACK": "0", "PREFECT_SERVER_ANALYTICS_ENABLED": "true"}, "True True"),
    ],
    ids=["by default", "as chosen"],
)
def test_telemetry_is_off_by_default(
    chosen: dict[str, str], printed: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """In a folder without prefect.toml, as with an installed package."""
    home = str(tmp_path_factory.mktemp("home"))
    # Prefect sends none where it finds the variables of a CI server.
    environment = {"HOME": home, "PATH": os.defpath, "PYTHONPATH": str(ROOT), **chosen}
    done = subprocess.run(
        [sys.executable, "-c", PROBE],
        env=environment,
        cwd=home,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == printed.split()
