import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.installation import Installation, link_dependencies
from tests.servers import connection_audit

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and with the wheel built from it as an installer builds it."""
    folder = tmp_path_factory.mktemp("dist")
    _build("sdist", ROOT, folder)
    (sdist,) = folder.glob("*.tar.gz")
    shutil.unpack_archive(sdist, folder, filter="data")
    unpacked = folder / sdist.name.removesuffix(".tar.gz")
    _build("wheel", unpacked, folder)
    return folder


@pytest.fixture(scope="session")
def installation(distributions: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """The wheel in a new environment outside the checkout, with its own dependencies only.

    The dependencies are links to this environment's: nothing is downloaded.
    """
    folder = tmp_path_factory.mktemp("installed")
    venv = [sys.executable, "-m", "venv", "--without-pip"]
    subprocess.run([*venv, folder / "venv"], check=True)
    installed = Installation(folder)
    (wheel,) = distributions.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "--python", str(installed.python), "--no-input", "--quiet"]
    install = [*pip, "--disable-pip-version-check", "install", "--no-index", "--no-deps"]
    subprocess.run([*install, str(wheel)], check=True)
    link_dependencies("turnetl", installed.site_packages)
    connection_audit.install_in_environment(installed.site_packages)
    return installed


def _build(target: str, source: Path, folder: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "--target", target]
    subprocess.run([*build, "--directory", folder], cwd=source, check=True, capture_output=True)
