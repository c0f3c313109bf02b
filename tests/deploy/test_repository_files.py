"""The files of the forge (.github/) and of pre-commit are valid, and ask for what CI runs."""

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.deploy.files import DEPLOY, ROOT

GITHUB = ROOT / ".github"
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
WORKFLOW: dict[str, Any] = YAML(typ="safe").load(GITHUB / "workflows" / "test.yml")
JOBS: dict[str, Any] = WORKFLOW["jobs"]
FORMS = sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml"))
CHECKS = [
    shlex.split(arguments.replace("\\\n", " "))
    for arguments in re.findall(r"check-jsonschema ((?:[^\n\\]|\\\n)+)", MAKEFILE)
]
"""The arguments of each call in `make lint-deploy`."""


def steps(job: str, key: str) -> list[str]:
    return [step[key] for step in JOBS[job]["steps"] if key in step]


def test_ci_tests_the_pythons_of_the_classifiers_on_three_systems() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pythons = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    matrix = JOBS["test"]["strategy"]["matrix"]
    assert matrix["python"] == pythons
    assert matrix["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]


def test_ci_runs_what_contributing_asks_for() -> None:
    assert steps("test", "run") == ["make test PYTHON=python"]
    assert steps("lint-deploy", "run") == ["make lint-deploy"]


def test_ci_may_only_read_and_its_actions_have_a_major_version() -> None:
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert not [job for job in JOBS.values() if "permissions" in job]
    used = [action for job in JOBS for action in steps(job, "uses")]
    assert used
    assert [one for one in used if not re.fullmatch(r"actions/[a-z-]+@v\d+", one)] == []


def test_each_file_of_the_forge_is_linted() -> None:
    linted = {name for arguments in CHECKS for name in arguments if name.startswith(".github/")}
    files = {path.relative_to(ROOT).as_posix() for path in GITHUB.rglob("*.yml")}
    assert linted == files


@pytest.mark.skipif(not shutil.which("make"), reason="needs make")
@pytest.mark.parametrize(
    ("system", "tool"), [("Windows_NT", ".venv/Scripts/pytest"), ("", ".venv/bin/pytest")]
)
def test_the_makefile_uses_the_programs_of_an_environment_on_windows_too(
    system: str, tool: str
) -> None:
    dry_run = ["make", "--dry-run", "test", f"OS={system}"]
    done = subprocess.run(dry_run, cwd=ROOT, capture_output=True, text=True, check=True)
    assert f"\n{tool} -n auto\n" in done.stdout


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_a_form_names_only_files_that_exist(path: Path) -> None:
    named = re.findall(r"\b(?:docs/)?\w+\.md\b", path.read_text(encoding="utf-8"))
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_pre_commit_runs_what_ci_runs_before_the_tests() -> None:
    config = YAML(typ="safe").load(ROOT / ".pre-commit-config.yaml")
    hooks = [hook for repository in config["repos"] for hook in repository["hooks"]]
    [recipe] = re.findall(r"^test: .+\n((?:\t.+\n)+)", MAKEFILE, flags=re.MULTILINE)
    *before, tests = [line.strip() for line in recipe.splitlines()]
    assert tests.startswith("$(BIN)/pytest ")
    assert [hook["entry"].replace(".venv/bin", "$(BIN)") for hook in hooks] == before


def test_pre_commit_needs_no_network() -> None:
    config = YAML(typ="safe").load(ROOT / ".pre-commit-config.yaml")
    assert [repository["repo"] for repository in config["repos"]] == ["local"]
    hooks = config["repos"][0]["hooks"]
    assert {(hook["language"], hook["pass_filenames"]) for hook in hooks} == {("system", False)}


@pytest.mark.full
def test_the_files_match_their_schemas(tmp_path: Path) -> None:
    """By the linters of the lock, whose schemas are part of their package."""
    uv, python = [sys.executable, "-m", "uv", "--quiet"], tmp_path / "venv"
    subprocess.run([*uv, "venv", "--python", sys.executable, str(python)], check=True)
    install = [*uv, "pip", "install", "--python", str(python), "--require-hashes"]
    lock = ["-r", str(DEPLOY / "lint.lock")]
    done = subprocess.run([*install, *lock], check=False, capture_output=True, text=True)
    if done.returncode != 0 and "Failed to fetch" in done.stderr:
        pytest.skip("the linters are not in uv's cache, and no package index can be reached")
    assert done.returncode == 0, done.stderr
    [program] = python.glob("*/check-jsonschema*")
    assert CHECKS
    for arguments in CHECKS:
        subprocess.run([str(program), *arguments], cwd=ROOT, check=True)
