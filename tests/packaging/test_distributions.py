"""What the sdist and the wheel contain."""

import re
import subprocess
import tarfile
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
"""From the oldest that turnetl supports to the newest that CI tests."""

# One installation for all of them, where one of them finds its Neo4j.
pytestmark = pytest.mark.xdist_group("neo4j")

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def wheel(distributions: Path) -> set[str]:
    (path,) = distributions.glob("*.whl")
    return set(ZipFile(path).namelist())


@pytest.fixture(scope="module")
def sdist(distributions: Path) -> set[str]:
    (path,) = distributions.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


@pytest.mark.full
def test_the_wheel_contains_every_module_and_template(wheel: set[str]) -> None:
    expected = tracked("turnetl", "flows")
    expected |= {f"turnetl/_{name}" for name in tracked("templates")}
    assert {name for name in wheel if ".dist-info/" not in name} == expected


@pytest.mark.full
def test_the_sdist_contains_every_file_but_those_of_the_repository_itself(sdist: set[str]) -> None:
    of_the_repository = {".ci/run", ".gitattributes"}
    assert tracked() - of_the_repository <= sdist
    assert sdist - tracked() == {"PKG-INFO"}


def test_the_classifiers_name_every_python_from_the_oldest_to_the_newest() -> None:
    prefix = "Programming Language :: Python :: "
    classifiers = {name for name in PROJECT["classifiers"] if name.startswith(prefix)}
    assert classifiers == {f"{prefix}{version}" for version in PYTHONS}
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"


def test_contributing_says_on_which_pythons_the_wheel_is_tested() -> None:
    page = " ".join((ROOT / "CONTRIBUTING.md").read_text().split())
    assert f"the oldest ({PYTHONS[0]}) and the newest ({PYTHONS[-1]}) supported Python" in page


@pytest.mark.parametrize(
    "lock",
    [
        "requirements.lock",
        "requirements-uv.lock",
        "requirements-sbom.lock",
        "deploy/image.lock",
        "deploy/build.lock",
        "deploy/lint.lock",
    ],
)
def test_each_package_of_a_lock_has_a_version_and_hashes(lock: str) -> None:
    lines = [line for line in (ROOT / lock).read_text().splitlines() if not line.startswith(" ")]
    packages = [line for line in lines if line and not line.startswith("#")]
    assert packages
    for package in packages:
        assert re.fullmatch(r"[a-z0-9.-]+==[^ ]+( ; .+)? \\", package), package


def test_the_set_up_installs_nothing_without_a_hash() -> None:
    """But turnetl itself, by the build backend of the lock."""
    commands = re.findall(r"pip install .*", (ROOT / "Makefile").read_text())
    assert len(commands) == 5
    for command in commands:
        itself = "--no-deps --no-build-isolation -e ." in command
        assert itself or "--require-hashes -r " in command, command
    build = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"])
    names = {re.split(r"[><=]", requirement)[0] for requirement in build}
    lock = (ROOT / "requirements.lock").read_text()
    assert all(re.search(rf"(?m)^{name}==", lock) for name in names)


def tracked(*folders: str) -> set[str]:
    """Return the files in git, and those that are not ignored."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *folders]
    done = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True)
    return {name for name in done.stdout.splitlines() if (ROOT / name).exists()}
