"""`turnetl why` in a repository that was unpacked, with a configuration of its author."""

import shutil
import uuid
from pathlib import Path

import pytest

from tests.cli.command import CommandResult, run_in_process
from tests.cli.repository import Repository

CONTENT = 'class Cart:\n    lines = "one"\n'
FILE = "src/bookshop/cart.py"


class Planted:
    """A repository of two commits, and a program that leaves a file when it is run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.repository = Repository(folder)
        self.repository.commit(CONTENT, "2026-03-03T09:15:00Z")
        self.repository.commit(f"{CONTENT}# more\n", "2026-03-03T09:45:00Z")
        self.repository.file.write_text(f"{CONTENT}# more\n# not committed\n")
        self.program = folder / "program"
        self.program.write_text(f"#!/bin/sh\ntouch {folder}/ran-$1\n")
        self.program.chmod(0o755)

    def configure(self, text: str) -> None:
        with (self.repository.folder / ".git" / "config").open("a") as config:
            config.write(text)

    def remove_old_objects(self) -> None:
        """Remove the content of the first commit, as in a clone that lacks it."""
        name = self.repository.git("rev-parse", f"HEAD^:{FILE}").strip()
        (self.repository.folder / ".git" / "objects" / name[:2] / name[2:]).unlink()

    def why(self, place: str = FILE, **environment: str) -> CommandResult:
        options = ("--lake", self.folder / "lake", "--json")
        return run_in_process("why", place, *options, folder=self.repository.folder, **environment)

    @property
    def ran(self) -> list[Path]:
        return list(self.folder.glob("ran-*"))


@pytest.fixture
def planted(tmp_path: Path, filled_samples: Path) -> Planted:
    shutil.copytree(filled_samples / ".turnetl" / "lake", tmp_path / "lake")
    return Planted(tmp_path)


def test_no_program_that_the_repository_names_is_run(planted: Planted) -> None:
    (planted.repository.folder / ".gitattributes").write_text("*.py filter=a=b diff=planted\n")
    program = planted.program
    planted.configure(
        f'[filter "a=b"]\n\tclean = {program} clean\n\trequired = true\n'
        f'[diff "planted"]\n\ttextconv = {program} textconv\n\tcommand = {program} command\n'
        f"[core]\n\tfsmonitor = {program} fsmonitor\n\tpager = {program} pager\n"
        f"[log]\n\tshowSignature = true\n[gpg]\n\tprogram = {program}\n"
        f"[diff]\n\texternal = {program} external\n"
        f"[alias]\n\tblame = !{program} alias\n"
    )
    result = planted.why()
    assert (result.exit_code, len(result.json["commits"])) == (0, 3)
    assert planted.ran == []


@pytest.mark.parametrize(
    "url",
    ["ext::{program} ext", "ssh://example.org/x", "{folder}/other", "git://example.org/x"],
    ids=["command", "ssh", "folder", "proxy"],
)
def test_missing_objects_are_not_fetched_by_a_program_of_the_repository(
    planted: Planted, url: str
) -> None:
    shutil.copytree(planted.repository.folder, planted.folder / "other")
    named = url.format(program=planted.program, folder=planted.folder)
    program = planted.program
    planted.configure(
        "[core]\n\trepositoryformatversion = 1\n"
        f"\tsshCommand = {program} ssh\n\tgitProxy = {program}\n\taskPass = {program}\n"
        "[extensions]\n\tpartialClone = origin\n[protocol]\n\tallow = always\n"
        '[protocol "ext"]\n\tallow = always\n'
        f'[remote "origin"]\n\tpromisor = true\n\turl = "{named}"\n'
        f"\tuploadpack = {program} uploadpack\n"
        f"[credential]\n\thelper = {program} credential\n"
    )
    planted.remove_old_objects()
    result = planted.why()
    assert planted.ran == []
    assert (result.exit_code, len(result.messages)) == (2, 1)
    assert "turnetl fetches none of its objects" in result.messages[0]


def test_the_repository_in_which_git_runs_is_the_one_whose_programs_are_disabled(
    planted: Planted,
) -> None:
    """A repository in a folder may name a folder above, with another repository, as its own."""
    (planted.repository.folder / ".gitattributes").write_text("*.py filter=planted\n")
    planted.configure(f'[filter "planted"]\n\tclean = {planted.program} clean\n')
    inner = planted.repository.file.parent
    planted.repository.git("init", "--quiet", str(inner))
    planted.repository.git("-C", str(inner), "config", "core.worktree", "../../..")
    assert planted.why().exit_code == 0
    assert planted.ran == []


def test_a_working_tree_elsewhere_is_no_repository_of_the_file(planted: Planted) -> None:
    elsewhere = planted.folder / "elsewhere"
    elsewhere.mkdir()
    planted.repository.git("config", "core.worktree", str(elsewhere))
    result = planted.why()
    assert (result.exit_code, len(result.messages)) == (2, 1)
    assert "is in no git repository" in result.messages[0]


def test_no_line_of_a_file_elsewhere_is_displayed(planted: Planted) -> None:
    secret = uuid.uuid4().hex
    (planted.folder / "elsewhere.txt").write_text(f"{secret}\n")
    planted.configure(f"[blame]\n\tignoreRevsFile = {planted.folder}/elsewhere.txt\n")
    result = planted.why()
    assert (result.exit_code, len(result.messages)) == (2, 1)
    assert "`blame.ignoreRevsFile`" in result.messages[0]
    assert secret not in result.stdout + result.stderr


def test_the_users_own_configuration_in_the_environment_stays(planted: Planted) -> None:
    (planted.repository.folder / ".gitattributes").write_text("*.py filter=planted\n")
    planted.configure(f'[filter "planted"]\n\tclean = {planted.program} clean\n')
    own = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
        "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1",
    }
    assert planted.why(**own).exit_code == 0
    assert planted.ran == []
