"""Every command shown on a page runs, in the order of its page, as a user would run it.

Blocks marked `sh` are executed line by line in a folder with the sample archives and a filled lake.
A comment `# exit code N` says which exit code the page promises; without one it is 0. A block
marked `text` directly below begins the output of the first command.
"""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.command import ROOT, clean_environment, run_in_process
from tests.servers.provider import FakeProvider

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "data/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
NEO4J = "bolt://neo4j:password@localhost:7687"
"""The server that pages name; a page that does not needs none."""
NOT_RUN = {
    ".": "activates an environment",
    "docker": "needs a daemon; tests/deploy checks the files of deploy/",
    "install": "asks on a terminal; tests/install runs it for every agent",
    "kubectl": "needs a cluster; see docker",
    "mcp": "serves until it is stopped; tests/mcp runs it",
    "make": "runs these tests, or is run in a fresh clone before each release",
    "neo4j-admin": "tests/deploy/test_backups.py dumps and loads a graph",
    "pip": "needs a package index; tests/packaging installs the package",
    "prefect": "tests/prefect runs these commands against a real server and worker",
    "pytest": "runs these tests",
    "resume": "starts an agent, if it is installed; tests/cli/test_sessions.py runs it",
    "review": "needs a turn of which a model ended many facts; tests/cli/test_review.py has one",
    "serve": "serves until it is stopped; tests/cli/test_serve.py runs it",
    "systemctl": "needs systemd as the first process; see docker",
}
"""Programs whose lines are not executed here, and why."""
FILES = ("cp", "mkdir", "tar")
"""Programs that only change files in the user's folder."""


@dataclass(frozen=True)
class ShellLine:
    words: tuple[str, ...]
    comment: str
    output: str
    """How the page says that the output begins."""

    @property
    def exit_code(self) -> int:
        promised = re.search(r"exit code (\d+)", self.comment)
        return int(promised[1]) if promised else 0


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the folder of a user who has run the first backfill, and a copy of it.

    The lake holds the folder's path: each page restores the folder from the copy.
    """
    folder, copy = tmp_path_factory.mktemp("user"), tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "data", folder / "data", ignore=shutil.ignore_patterns("lake"))
    shutil.copytree(ROOT / "data" / "archives", folder / ".claude" / "projects")
    result = run_in_process("backfill", "data/archives", folder=folder)
    assert result.exit_code == 0, result.stderr
    shutil.copytree(folder, copy, dirs_exist_ok=True)
    return folder, copy


@pytest.fixture
def user_folder(prepared: tuple[Path, Path]) -> Path:
    """Return the folder of a user who has run the first backfill, and nothing else."""
    folder, copy = prepared
    shutil.rmtree(folder)
    return shutil.copytree(copy, folder)


@pytest.mark.full
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page,
            id=str(page.relative_to(ROOT)),
            marks=pytest.mark.neo4j if NEO4J in page.read_text() else (),
        )
        for page in PAGES
    ],
)
def test_every_command_of_a_page_runs(
    page: Path, request: pytest.FixtureRequest, tmp_path: Path, provider: FakeProvider
) -> None:
    text = page.read_text()
    replacements = {"http://localhost:11434/v1": f"{provider.url}/v1"}
    if NEO4J in text:
        replacements[NEO4J] = request.getfixturevalue("neo4j_url")
    lines = list(_shell_lines(text, replacements))
    has_commands = any(line.words[0] in ("turnetl", "python") for line in lines)
    folder = request.getfixturevalue("user_folder") if has_commands else tmp_path
    environment: dict[str, str] = {}
    for line in lines:
        program, *arguments = line.words
        if program == "export":
            environment |= dict(argument.split("=", 1) for argument in arguments)
        elif program == "turnetl" and arguments[0] not in NOT_RUN:
            result = run_in_process(*arguments, folder=folder, **environment)
            shown = f"{shlex.join(line.words)}\n{result.stdout}{result.stderr}"
            assert result.exit_code == line.exit_code, shown
            assert result.stdout.startswith(line.output), shown
        elif program == "python":
            subprocess.run(
                [sys.executable, *arguments],
                cwd=folder,
                env=clean_environment(folder),
                check=True,
            )
        elif program in FILES:
            words = [word.replace("~", str(folder)) for word in line.words]
            subprocess.run(words, cwd=folder, check=True)
        else:
            excused = {program, *arguments[:1]} & NOT_RUN.keys()
            assert excused, f"{page.name}: `{program}` is neither run nor excused"


def _shell_lines(text: str, replacements: dict[str, str]) -> Iterator[ShellLine]:
    blocks = re.findall(
        r"^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", text, flags=re.DOTALL | re.MULTILINE
    )
    for block, shown in blocks:
        output = shown
        for line in block.replace("\\\n", " ").splitlines():
            for documented, actual in replacements.items():
                line = line.replace(documented, actual)  # noqa: PLW2901 - the line as it is run
            words = shlex.split(line, comments=True)
            if words:
                words[0] = words[0].removeprefix(".venv/bin/")
                yield ShellLine(tuple(words), line.partition("# ")[2], output)
                output = ""
