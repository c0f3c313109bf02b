"""Reading a git repository with the `git` command."""

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from turnetl.errors import BadUsage, Fatal
from turnetl.retrieval.blame import BlamedCommit, parse_blame

_OPTIONS = (
    "--no-optional-locks",
    "--literal-pathspecs",
    "--no-pager",
    "-c",
    "core.quotePath=false",
    # What the repository may name as a program to be run.
    "-c",
    "core.fsmonitor=false",
    "-c",
    "log.showSignature=false",
)
_FILTER = re.compile(r"filter\..+\.(?:clean|smudge|process|required)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FileInRepository:
    root: Path
    path: str
    """From the root, with slashes."""
    environment: Mapping[str, str]
    """Of git: see `_environment`."""


def file_in_repository(path: Path) -> FileInRepository:
    """Return where a file is in its repository.

    Raises:
        BadUsage: there is no such file, it is a folder, or it is in no repository.
        Fatal: there is no `git`.
    """
    if path.is_dir():
        raise BadUsage(f"`{path}` is a folder: only the lines of a file have turns; name a file")
    if not path.is_file():
        raise BadUsage(f"there is no file `{path}`")
    file = path.resolve()
    environment = _environment(file.parent)
    result = _git(file.parent, environment, "rev-parse", "--show-toplevel")
    if result.returncode != 0:
        raise BadUsage(
            f"`{path}` is in no git repository: only commits say when a line was written"
        )
    root = Path(result.stdout.removesuffix("\n")).resolve()
    return FileInRepository(root, file.relative_to(root).as_posix(), environment)


def blame(file: FileInRepository, line: int | None) -> list[BlamedCommit]:
    """Return the commits that the lines of a file come from, the newest first.

    Args:
        file: the file.
        line: only this line, from 1; None: all lines.

    Raises:
        BadUsage: git does not know the file, or it has no such line.
    """
    if line is not None and line < 1:
        raise BadUsage(f"`{file.path}` has no line {line}: lines are counted from 1")
    only = ["-L", f"{line},{line}"] if line is not None else []
    arguments = ("blame", "--no-textconv", "--porcelain", *only, "--", file.path)
    result = _git(file.root, file.environment, *arguments)
    if result.returncode != 0:
        reason = result.stderr.strip().partition("\n")[0].removeprefix("fatal: ")
        raise BadUsage(f"git cannot say who wrote `{file.path}`: {reason}")
    return sorted(parse_blame(result.stdout), key=lambda commit: commit.authored_at, reverse=True)


def previous_change(file: FileInRepository, commit: BlamedCommit) -> datetime | None:
    """Return when the commit of the file before this one was made; None if it is the first."""
    if commit.previous is None:
        return None
    arguments = ("log", "-1", "--format=%at", commit.previous, "--", commit.path)
    seconds = _git(file.root, file.environment, *arguments).stdout.strip()
    return datetime.fromtimestamp(int(seconds), UTC) if seconds.isdecimal() else None


def _environment(folder: Path) -> Mapping[str, str]:
    """Return the environment in which git runs none of the filters that a repository names.

    A repository that was unpacked, and not cloned, has a configuration of its author.
    """
    own = os.environ  # noqa: TID251 - for a child
    names = _git(folder, own, "config", "--null", "--name-only", "--list").stdout
    filters = [name for name in names.split("\0") if _FILTER.fullmatch(name)]
    disabled = {f"GIT_CONFIG_KEY_{number}": name for number, name in enumerate(filters)}
    # As a Boolean, the empty text is false.
    values = {f"GIT_CONFIG_VALUE_{number}": "" for number in range(len(filters))}
    return {**own, **disabled, **values, "GIT_CONFIG_COUNT": str(len(filters))}


def _git(
    folder: Path, environment: Mapping[str, str], *arguments: str
) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            ["git", *_OPTIONS, *arguments],
            cwd=folder,
            env=dict(environment),
            capture_output=True,
            check=False,
            encoding="utf-8",
            errors="replace",
        )
    except FileNotFoundError as error:
        raise Fatal("`turnetl why` needs the command `git`: install it") from error
