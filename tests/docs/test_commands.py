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

pytestmark = pytest.mark.neo4j

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "data/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
NOT_RUN = {
    ".": "activates an environment",
    "make": "runs these tests, or is run in a fresh clone before each release",
    "pip": "needs a package index; tests/packaging installs the package",
    "prefect": "tests/prefect runs these commands against a real server and worker",
    "pytest": "runs these tests",
}
"""Programs whose lines are not executed here, and why."""


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_a_page_runs(
    page: Path, tmp_path: Path, provider: FakeProvider, neo4j_url: str
) -> None:
    replacements = {
        "bolt://neo4j:password@localhost:7687": neo4j_url,
        "http://localhost:11434/v1": f"{provider.url}/v1",
    }
    lines = list(_shell_lines(page.read_text(), replacements))
    if any(line.words[0] == "turnetl" for line in lines):
        _prepare(tmp_path)
    environment: dict[str, str] = {}
    for line in lines:
        program, *arguments = line.words
        if program == "export":
            environment |= dict(argument.split("=", 1) for argument in arguments)
        elif program == "turnetl":
            result = run_in_process(*arguments, folder=tmp_path, **environment)
            shown = f"{shlex.join(line.words)}\n{result.stdout}{result.stderr}"
            assert result.exit_code == line.exit_code, shown
            assert result.stdout.startswith(line.output), shown
        elif program == "python":
            subprocess.run(
                [sys.executable, *arguments],
                cwd=tmp_path,
                env=clean_environment(tmp_path),
                check=True,
            )
        else:
            assert program in NOT_RUN, f"{page.name}: `{program}` is neither run nor excused"


def _prepare(folder: Path) -> None:
    """Make the folder of a user who has run the first backfill."""
    shutil.copytree(ROOT / "data", folder / "data", ignore=shutil.ignore_patterns("lake"))
    shutil.copytree(ROOT / "data" / "archives", folder / ".claude" / "projects")
    result = run_in_process("backfill", "data/archives", folder=folder)
    assert result.exit_code == 0, result.stderr


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
