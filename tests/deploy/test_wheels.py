"""Every package of the lock has a wheel for each supported platform, or a page names the gap."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from packaging.markers import Marker
from packaging.tags import compatible_tags, cpython_tags, mac_platforms

from tests.cli.command import ROOT
from tests.packaging.test_distributions import PYTHONS

LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
LOCKED = re.findall(r"^([a-z0-9.-]+)==([^ ]+)(?: ; (.+?))? \\$", LOCK, flags=re.MULTILINE)
"""Name, version and marker of each package."""
PAGE = (ROOT / "docs" / "getting-started.md").read_text(encoding="utf-8")
HEADER, *ROWS = [
    line.split("\t")
    for line in (ROOT / "deploy" / "wheels.tsv").read_text(encoding="utf-8").splitlines()
]
GLIBC, MACOS = 28, (15, 0)
"""The oldest that all wheels run on: glibc 2.28 and macOS 15."""


@dataclass(frozen=True)
class Platform:
    title: str
    tags: tuple[str, ...]
    """Of wheels, for `packaging.tags`."""
    markers: tuple[str, str, str, str]
    """`sys_platform`, `platform_machine`, `platform_system` and `os_name`."""


def manylinux(machine: str) -> tuple[str, ...]:
    return tuple(f"manylinux_2_{version}_{machine}" for version in range(GLIBC, 4, -1))


PLATFORMS = (
    Platform("Linux on x86-64", manylinux("x86_64"), ("linux", "x86_64", "Linux", "posix")),
    Platform("Linux on ARM", manylinux("aarch64"), ("linux", "aarch64", "Linux", "posix")),
    Platform(
        "macOS on ARM",
        tuple(mac_platforms(MACOS, "arm64")),
        ("darwin", "arm64", "Darwin", "posix"),
    ),
    Platform("Windows on x86-64", ("win_amd64",), ("win32", "AMD64", "Windows", "nt")),
)


@cache
def is_needed(marker: str, python: str, platform: Platform) -> bool:
    system, machine, name, os_name = platform.markers
    environment = {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "sys_platform": system,
        "platform_machine": machine,
        "platform_system": name,
        "os_name": os_name,
    }
    return not marker or Marker(marker).evaluate(environment)


@cache
def installable(python: str, platform: Platform) -> frozenset[str]:
    """Return the tags of the wheels that a Python of a platform installs."""
    version = tuple(map(int, python.split(".")))
    interpreter = f"cp{python.replace('.', '')}"
    tags = (
        *cpython_tags(version, [interpreter], platform.tags),
        *compatible_tags(version, interpreter, platform.tags),
    )
    return frozenset(map(str, tags))


def without_wheel(rows: Sequence[Sequence[str]]) -> Iterator[tuple[str, str, str]]:
    """Yield package, title of the platform and Python wherever a needed wheel is missing."""
    tags = {(name, version): set(kept.split()) for name, version, _, kept in rows}
    for name, version, marker in LOCKED:
        for platform in PLATFORMS:
            for python in PYTHONS:
                is_covered = tags[name, version] & installable(python, platform)
                if is_needed(marker, python, platform) and not is_covered:
                    yield name, platform.title, python


def documented_gaps() -> set[tuple[str, str, str]]:
    """Return the gaps that the page names: a row has a package, platforms and Pythons."""
    table = PAGE.partition("| without a wheel | on | with Python |\n|---|---|---|\n")[2]
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| ([^|]+) \| ([^|]+) \|$", table, flags=re.MULTILINE)
    return {
        (package, platform.strip(), python.strip())
        for package, platforms, pythons in rows
        for platform in platforms.split(", ")
        for python in pythons.split(", ")
    }


def test_the_table_has_the_packages_of_the_lock() -> None:
    assert HEADER == ["package", "version", "sdist", "tags"]
    listed = [(name, version) for name, version, _, _ in ROWS]
    assert listed == sorted((name, version) for name, version, _ in LOCKED), "run `make lock`"


def test_a_package_without_a_wheel_for_a_platform_is_documented_and_no_other_is() -> None:
    gaps = set(without_wheel(ROWS))
    assert gaps == documented_gaps()


def test_what_has_no_wheel_can_be_built_from_source() -> None:
    gaps = {name for name, _, _ in without_wheel(ROWS)}
    assert {name for name, _, sdist, _ in ROWS if name in gaps and sdist == "no"} == set()


def test_pyproject_names_the_dependencies_without_a_wheel_for_a_platform() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    extras = project["optional-dependencies"].values()
    direct = {
        re.split(r"[\[<=> ]", one)[0]
        for group in (project["dependencies"], *extras)
        for one in group
    }
    for name in {name for name, _, _ in without_wheel(ROWS)} & direct:
        comment = re.search(rf'((?: +#.+\n)+) +"{name}\b', text)
        assert comment, name
        assert "wheel" in comment[1], name


def test_a_missing_wheel_is_noticed() -> None:
    rows = [[name, version, sdist, ""] for name, version, sdist, _ in ROWS]
    found = set(without_wheel(rows))
    everywhere = {name for name, _, marker in LOCKED if not marker}
    assert len(everywhere) > 100
    assert {(name, "Windows on x86-64", PYTHONS[0]) for name in everywhere} <= found


def test_the_page_says_which_systems_the_wheels_run_on() -> None:
    page = " ".join(PAGE.split())
    assert f"glibc 2.{GLIBC} or later" in page
    assert f"macOS {MACOS[0]} or later" in page
    assert f"Python {PYTHONS[0]} to {PYTHONS[-1]}" in page
