"""`turnetl why` in a repository, on the graph of the samples."""

import shutil
from pathlib import Path

import pytest

from tests.cli.command import CommandResult, run_in_process
from tests.cli.repository import Repository

FIRST = 'class Cart:\n    def add(self, book):\n        self.add_line(book["price"])\n'
SECOND = FIRST.replace(
    'book["price"]', '\n            book["price_cents"] / 100, quantity\n        '
)


@pytest.fixture(scope="module")
def lake(filled_samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("why")
    return shutil.copytree(filled_samples, folder, dirs_exist_ok=True) / ".turnetl/lake"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    made = Repository(tmp_path_factory.mktemp("repository"))
    made.commit(FIRST, "2026-03-01T10:00:00Z")
    made.commit(SECOND, "2026-03-03T09:15:00Z")
    made.commit(f"{SECOND}# written by hand\n", "2026-03-03T09:45:00Z")
    made.file.write_text(f"{SECOND}# written by hand\n# not committed\n")
    return made


def why(repository: Repository, lake: Path, place: str, *options: str) -> CommandResult:
    return run_in_process("why", place, "--lake", lake, *options, folder=repository.folder)


def test_a_line_that_an_edit_shows_has_its_turn(repository: Repository, lake: Path) -> None:
    found = why(repository, lake, "src/bookshop/cart.py:4", "--json").json
    (commit,) = found["commits"]
    assert (found["path"], found["line"], commit["certainty"]) == (
        "src/bookshop/cart.py",
        4,
        "line",
    )
    assert [turn["id"] for turn in commit["turns"]] == ["66185fa7"]
    assert commit["facts"][0]["text"].startswith("`src/bookshop/cart.py`: in `Cart.add`")


def test_a_line_before_the_first_turn_is_unknown(repository: Repository, lake: Path) -> None:
    result = why(repository, lake, "src/bookshop/cart.py:1")
    assert result.exit_code == 0
    assert "unknown: no turn in the graph edited the file" in result.stdout


def test_a_line_that_a_person_wrote_after_a_turn_is_unknown(
    repository: Repository, lake: Path
) -> None:
    (commit,) = why(repository, lake, "src/bookshop/cart.py:6", "--json").json["commits"]
    assert (commit["certainty"], commit["turns"]) == ("unknown", [])
    assert [turn["id"] for turn in commit["candidates"]] == ["ed5feb83"]


def test_a_file_has_its_commits_the_newest_first(repository: Repository, lake: Path) -> None:
    found = why(repository, lake, "./src/bookshop/cart.py", "--json").json
    certainties = [commit["certainty"] for commit in found["commits"]]
    assert certainties == ["unknown", "unknown", "line", "unknown"]
    assert [commit["lines"] for commit in found["commits"]] == [[7], [6], [3, 4, 5], [1, 2]]
    assert found["commits"][0]["commit"] is None
    last = why(repository, lake, "src/bookshop/cart.py", "-n", "1")
    assert last.stdout.endswith("the newest 1 of 4 commits; -n prints more\n")


def test_another_repository_has_no_answer(tmp_path: Path, lake: Path) -> None:
    other = Repository(tmp_path)
    other.commit(SECOND, "2026-03-03T09:15:00Z")
    renamed = other.folder.rename(tmp_path / "pottery")
    result = run_in_process("why", "src/bookshop/cart.py", "--lake", lake, "--json", folder=renamed)
    assert [commit["certainty"] for commit in result.json["commits"]] == ["unknown"]


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("src/bookshop/cart.py:99", "has only 7 lines"),
        ("src/bookshop/none.py", "there is no file"),
        ("src/bookshop", "`src/bookshop` is a folder"),
        ("src/bookshop:3", "`src/bookshop` is a folder"),
        ("src/bookshop/cart.py:0", "has no line 0: lines are counted from 1"),
        ("src/bookshop/cart.py:-1", "has no line -1: lines are counted from 1"),
    ],
)
def test_what_git_cannot_blame_is_named(
    place: str, reason: str, repository: Repository, lake: Path
) -> None:
    result = why(repository, lake, place)
    assert result.exit_code == 2
    assert reason in result.messages[0]


def test_a_file_that_git_does_not_know_is_named(repository: Repository, lake: Path) -> None:
    new = repository.folder / "new.py"
    new.write_text("x\n")
    result = why(repository, lake, "new.py")
    new.unlink()
    assert result.exit_code == 2
    assert result.messages[0].startswith("turnetl: git cannot say who wrote `new.py`: no such path")


def test_a_file_outside_of_a_repository_is_named(tmp_path: Path, lake: Path) -> None:
    (tmp_path / "a.py").write_text("x\n")
    result = run_in_process("why", "a.py", "--lake", lake, folder=tmp_path)
    assert result.exit_code == 2
    assert "is in no git repository" in result.messages[0]


def test_without_git_the_message_says_so(repository: Repository, lake: Path) -> None:
    options = ("why", "src/bookshop/cart.py", "--lake", lake)
    result = run_in_process(*options, folder=repository.folder, PATH="")
    assert (result.exit_code, len(result.messages)) == (1, 1)
    assert "needs the command `git`" in result.messages[0]
