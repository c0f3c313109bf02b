"""Attribution of a file, or of a line of it, to turns, by the `git` command."""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Annotated

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage, Fatal
from turnetl.base.graph_model import Receipt
from turnetl.base.model import Turn, TurnId
from turnetl.base.progress import Progress, ignore_progress
from turnetl.base.results import INLINED, described
from turnetl.episode_text.conversation import from_turn
from turnetl.index.persistent import PersistentIndex
from turnetl.parsing.archive_edits import archived_edits
from turnetl.pipeline.opened_items import IndexAnswer, log, read_index
from turnetl.retrieval.why import Attribution, BlamedCommit, EditSources, attribute, parse_blame
from turnetl.settings import Settings

_CONFIG = (
    "core.quotePath=false",
    # What the repository may name as a program to be run.
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "log.showSignature=false",
    "credential.helper=",
    f"mailmap.file={os.devnull}",
    # A folder of the working tree that looks like a repository is none.
    "safe.bareRepository=explicit",
)
_OPTIONS = (
    "--no-optional-locks",
    "--literal-pathspecs",
    "--no-pager",
    *(part for setting in _CONFIG for part in ("-c", setting)),
)
_NO_CONNECTIONS = {
    # In a repository that lacks objects, git would fetch them with a program that its configuration
    # names. Before git 2.44 only the list of protocols prevents it: an empty one allows none.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_TERMINAL_PROMPT": "0",
}
_INVALID_LINE = "invalid object name: "
"""Git quotes a line of the file that `blame.ignoreRevsFile` names, which may be any file."""
_COUNT = "GIT_CONFIG_COUNT"
_FILTER = re.compile(r"filter\..+\.(?:clean|smudge|process|required)", re.DOTALL)
_PARTIAL = re.compile(r"remote\..+\.promisor|extensions\.partialclone", re.DOTALL)
_FETCH = (
    "; the repository is a partial clone, and turnetl fetches none of its objects: if you trust "
    "it, run `git blame` on the file, which fetches them, and then this command again"
)


@dataclass(frozen=True, slots=True)
class FileInRepository:
    """A file of a git repository."""

    root: Path
    """Folder of the repository."""
    path: Annotated[str, described("Path of the file from the root of its repository.")]
    """With slashes."""
    environment: Mapping[str, str]
    """Of git, which then runs no filter that the repository names."""
    is_partial: bool = False
    """Objects may be missing in the repository."""


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
    result = _git(file.parent, _own_environment(), "rev-parse", "--show-toplevel")
    root = Path(result.stdout.removesuffix("\n")).resolve()
    # The configuration may name any folder as the working tree.
    if result.returncode != 0 or not file.is_relative_to(root):
        raise BadUsage(
            f"`{path}` is in no git repository: only commits say when a line was written"
        )
    # Of the folder in which git will run: its repository may be another one than that of the file.
    listed = _git(root, _own_environment(), "config", "--null", "--name-only", "--list")
    names = listed.stdout.split("\0")
    is_partial = any(_PARTIAL.fullmatch(name) for name in names)
    path_in_root = file.relative_to(root).as_posix()
    return FileInRepository(root, path_in_root, _environment(names), is_partial)


def blame(file: FileInRepository, line: int | None) -> list[BlamedCommit]:
    """Return the commits that the lines of a file, or only this line, come from; the newest first.

    Raises:
        BadUsage: git does not know the file, or it has no such line.
    """
    if line is not None and line < 1:
        raise BadUsage(f"`{file.path}` has no line {line}: lines are counted from 1")
    only = ["-L", f"{line},{line}"] if line is not None else []
    arguments = ("blame", "--no-textconv", "--porcelain", *only, "--", file.path)
    output = _output(file, *arguments)
    return sorted(parse_blame(output), key=lambda commit: commit.authored_at, reverse=True)


def previous_change(file: FileInRepository, commit: BlamedCommit) -> datetime | None:
    """Return when the commit of the file before this one was made; None if it is the first."""
    if commit.previous is None:
        return None
    arguments = ("log", "-1", "--no-mailmap", "--format=%at", commit.previous, "--", commit.path)
    seconds = _output(file, *arguments).strip()
    return datetime.fromtimestamp(int(seconds), UTC) if seconds.isdecimal() else None


def _own_environment() -> Mapping[str, str]:
    return {**os.environ, **_NO_CONNECTIONS}  # noqa: TID251 - for a child


def _environment(names: Sequence[str]) -> Mapping[str, str]:
    """Return the environment in which git runs none of the filters that a repository names.

    A repository that was unpacked, and not cloned, has a configuration of its author.
    """
    own = _own_environment()
    filters = [name for name in names if _FILTER.fullmatch(name)]
    given = own.get(_COUNT, "")
    first = int(given) if given.isdecimal() else 0
    disabled = {f"GIT_CONFIG_KEY_{first + number}": name for number, name in enumerate(filters)}
    # As a Boolean, the empty text is false.
    values = {f"GIT_CONFIG_VALUE_{first + number}": "" for number in range(len(filters))}
    return {**own, **disabled, **values, _COUNT: str(first + len(filters))}


def _output(file: FileInRepository, *arguments: str) -> str:
    result = _git(file.root, file.environment, *arguments)
    if result.returncode != 0:
        reason = result.stderr.strip().partition("\n")[0].removeprefix("fatal: ")
        if reason.startswith(_INVALID_LINE):
            reason = "a line of the file that `blame.ignoreRevsFile` names is no commit"
        remedy = _FETCH if file.is_partial else ""
        raise BadUsage(f"git cannot say who wrote `{file.path}`: {reason}{remedy}")
    return result.stdout


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


@dataclass(frozen=True, slots=True)
class FileAuthorship:
    """The turns that wrote a file, or a line of it."""

    file: Annotated[FileInRepository, INLINED]
    line: Annotated[int | None, described("The line; null for all lines.")]
    attributions: Annotated[
        Sequence[Attribution], described("The newest commits first.", name="commits")
    ]
    count: Annotated[int, described("Commits that the lines come from.")]


async def why(
    path: Path,
    line: int | None,
    settings: Settings,
    clock: Clock,
    *,
    limit: int,
    progress: Progress = ignore_progress,
) -> IndexAnswer[FileAuthorship]:
    """Return which turns wrote the lines of a file, or a line of it, by its newest commits."""
    file = file_in_repository(path)
    commits = blame(file, line)
    dated = [(commit, previous_change(file, commit)) for commit in commits[:limit]]

    def read(index: PersistentIndex) -> FileAuthorship:
        sources = edit_sources(settings)
        found = attribute(index, dated, str(file.root), sources, by_line=line is not None)
        return FileAuthorship(file, line, found, len(commits))

    return await read_index(read, settings, clock, progress)


def edit_sources(settings: Settings) -> EditSources:
    redactor = wiring.redactor(settings, stores=False)
    # Turns may have been parsed with or without personal data, whatever the settings say now.
    opposite = settings.model_copy(update={"redact_pii": not settings.redact_pii})
    other = wiring.redactor(opposite, stores=False)
    return EditSources(
        archives=lambda receipts: archived_edits(
            receipts,
            (redactor, other),
            redactor.stands_for,
            wiring.archive_files(),
            lambda with_runs: {
                turn_id: turn.subagents
                for turn_id, turn in _lake_turns(settings, with_runs).items()
            },
        ),
        conversations=lambda receipts: {
            turn_id: from_turn(turn) for turn_id, turn in _lake_turns(settings, receipts).items()
        },
        redact=lambda texts: redactor.redact_many([list(texts)])[0].texts,
    )


def _lake_turns(settings: Settings, receipts: Sequence[Receipt]) -> Mapping[TurnId, Turn]:
    """Return those turns that the lake holds."""
    lake, found = wiring.lake(settings), {}
    group_of = attrgetter("group_id")
    for group, of_group in groupby(sorted(receipts, key=group_of), key=group_of):
        turns = [receipt.turn_id for receipt in of_group]
        try:
            for episode in lake.episodes(group, turns):
                found[episode.turn_id] = episode.turn
        except Fatal as error:
            log.warning("%s; the edits are read from the graph", error)
    return found
