"""The wheel with its dependencies from the package index, on the oldest and the newest Python.

Only `make test-full`: it downloads the dependencies, and with uv a Python that is missing.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.installation import Installation
from tests.packaging.test_distributions import PYTHONS
from tests.packaging.test_installation import copy_archives

pytestmark = pytest.mark.full

UV = [sys.executable, "-m", "uv", "--quiet"]


@pytest.mark.parametrize("python", [PYTHONS[0], PYTHONS[-1]])
def test_the_wheel_installs_from_the_index_and_does_the_main_job(
    python: str, distributions: Path, tmp_path: Path
) -> None:
    installed = Installation(tmp_path)
    (wheel,) = distributions.glob("*.whl")
    make = [*UV, "venv", "--python", python, str(tmp_path / "venv")]
    made = subprocess.run(make, check=False, capture_output=True, text=True)
    if made.returncode != 0 and "Failed to download" in made.stderr:
        pytest.skip(f"no Python {python} on this machine, and uv cannot download one")
    assert made.returncode == 0, made.stderr
    subprocess.run([*UV, "pip", "install", "--python", installed.python, wheel], check=True)
    version = installed.evaluate("import sys; print(sys.version)", cwd=tmp_path)
    assert version.startswith(f"{python}.")
    copy_archives(tmp_path)
    backfill = ("backfill", "archives", "--lake", "lake", "--json")
    assert json.loads(installed.turnetl(*backfill, cwd=tmp_path))["committed"] > 0
    search = ("search", "export", "--lake", "lake", "--json")
    assert "2026-05-05-export.jsonl" in installed.turnetl(*search, cwd=tmp_path)
