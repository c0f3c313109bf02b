"""What ends a failure: the same thing passes later, in the same place, after a change or without.

If a file was edited between, that edit fixed it; if nothing was changed, it passed on a rerun.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import takewhile

from turnetl.base.model import Attribute, Turn
from turnetl.base.relations import FIXED_BY
from turnetl.episode_text import prose
from turnetl.extraction.structural import edit_sentences, lexicon
from turnetl.extraction.structural.failures import FailureKind
from turnetl.extraction.structural.findings import (
    ERROR,
    FILE,
    TEST,
    CompletedRun,
    EntityKey,
    FactDraft,
    FileEdit,
)
from turnetl.extraction.structural.shell_commands import is_ci_log

_FIX_RANK = 3
_NOT_ALIKE = lexicon.SHELL_UTILITIES | {
    "docker exec",
    "docker run",
    "docker compose",
    "kubectl exec",
}
"""Programs whose runs may do anything: only the same line is the same run."""
_SELECTION = re.compile(
    r"\s(?:-run|-k|-t|--test|--grep|--filter|--testNamePattern|-only\S{0,20}|--lf)(?:[= ]|$)|::"
)
_SELECTED = re.compile(
    r"\s(?:-run|-k|-t|--test|--grep|--filter|--testNamePattern)[= ]{1,3}['\"]?"
    r"([^'\"\s]{2,150})|::([\w:]{2,150})"
)
_DOCUMENT = re.compile(r"\.(?:md|mdx|rst|txt|adoc)$", re.IGNORECASE)


class Resolution(StrEnum):
    """How a failure ended; one that still holds has none."""

    FIXED = "fixed"
    PASSED_ON_RERUN = "passed_on_rerun"
    PASSED = "passed"
    """In a later turn; whether anything was changed before is not known."""
    EDITED = "edited"
    """What the failure names was edited afterwards, and no later run shows it: it still holds."""
    ANSWERED = "answered"
    """A person asked why it fails, the agent said why, and nothing was changed: it still holds."""


PUSH = "git push"
"""The change of an edit without a file that CI sees, and no run on this machine."""


@dataclass(frozen=True, slots=True)
class RunFailure:
    """What decides whether a run resolves a failure: attributes of its fact."""

    name: str
    command: str
    line: str
    kind: FailureKind
    location: str = ""
    package: str = ""
    cwd: str = ""

    @property
    def key(self) -> EntityKey:
        """What failed: a test, which is an error itself if its run does not say why it failed."""
        is_test = self.kind is FailureKind.TEST
        return EntityKey(TEST if is_test else ERROR, self.name, ERROR if is_test else "")

    @property
    def ran(self) -> str:
        """What failed, as texts name it."""
        return f"`{self.command if self.kind is FailureKind.CALL else self.line}`"

    def sentence(self, name: str = "") -> str:
        word = "in" if self.kind is FailureKind.TEST else "with"
        # What shows a run of CI has not failed itself.
        ran = f"CI, as {self.ran} shows," if is_ci_log(self.line) else self.ran
        return f"{ran} failed {word} `{name or self.name}`"

    @property
    def attributes(self) -> dict[str, Attribute]:
        parts = {"command": self.command, "kind": str(self.kind)}
        line = "" if self.kind is FailureKind.CALL else self.line
        optional = {
            "line": line,
            "location": self.location,
            "package": self.package,
            "cwd": self.cwd,
        }
        return {**parts, **{name: value for name, value in optional.items() if value}}


def covers(run: CompletedRun, failed: RunFailure, *, is_same_turn: bool) -> bool:
    """Whether a run shows that what failed passes: it names it, or would have failed with it.

    What passes elsewhere says nothing: on a machine of CI, in another folder, in a container.
    """
    if not is_same_place(run, failed) and not _selects(run, failed):
        return False
    if failed.name in run.names or not run.passed:
        return failed.name in run.names
    if not run.is_shell or failed.kind is FailureKind.CALL:
        is_same_tool = run.source.name == failed.command and run.line == failed.line
        return is_same_turn and not run.is_shell and is_same_tool
    if failed.kind is FailureKind.TEST and (selected := _selected(run.line)):
        return any(pattern in failed.name for pattern in selected)
    if run.line == failed.line or is_ci_log(run.line):
        return True
    return not _SELECTION.search(run.line) and _is_alike(run, failed, is_same_turn=is_same_turn)


def _selects(run: CompletedRun, failed: RunFailure) -> bool:
    """Whether a run on this machine is of the very test that failed in CI."""
    is_local = is_ci_log(failed.line) and not is_ci_log(run.line)
    case = failed.name.partition("/")[0]
    return (
        is_local
        and failed.kind is FailureKind.TEST
        and any(pattern.partition("/")[0] == case for pattern in _selected(run.line))
    )


def _is_alike(run: CompletedRun, failed: RunFailure, *, is_same_turn: bool) -> bool:
    """Whether another line ran what failed, too."""
    if failed.package and any("/" in name for name in run.names):
        return failed.package in run.names
    if run.source.name != failed.command or failed.command in _NOT_ALIKE:
        return False
    if run.is_check:
        return _is_as_wide(run.line, failed)
    return is_same_turn and _is_corrected(run.line, failed)


def is_same_place(run: CompletedRun, failed: RunFailure) -> bool:
    if is_ci_log(run.line) != is_ci_log(failed.line):
        return False
    one, other = (f"/{cwd.strip('/')}" for cwd in (run.cwd, failed.cwd))
    return "/" in {one, other} or one.endswith(other) or other.endswith(one)


def _is_corrected(line: str, failed: RunFailure) -> bool:
    """Whether a line may be the corrected one: it has one of the first arguments, if any."""
    one, other = (_first_arguments(text, failed.command) for text in (line, failed.line))
    return not one or not other or not one.isdisjoint(other)


def _first_arguments(line: str, command: str) -> frozenset[str]:
    words = line.removeprefix(command).split()
    return frozenset(takewhile(lambda word: not word.startswith("-"), words))


def _is_as_wide(line: str, failed: RunFailure) -> bool:
    arguments = _path_arguments(line)
    return arguments <= {"./...", ".", "./"} or arguments == _path_arguments(failed.line)


def _selected(line: str) -> list[str]:
    """Return the patterns of the tests that a command selects."""
    found = (one or other for one, other in _SELECTED.findall(line))
    return [part.strip("^$()") for one in found for part in one.split("|") if part.strip("^$()")]


def _path_arguments(line: str) -> frozenset[str]:
    words = [word for word in line.split(" ")[1:] if not word.startswith("-")]
    return frozenset(word for word in words if "/" in word or "." in word)


def may_fix(edit: FileEdit, location: str, *, is_ci: bool = False) -> bool:
    """Whether an edit is of more than a document that the failure does not name.

    What is pushed changes only what CI runs.
    """
    is_seen = is_ci or edit.change != PUSH
    return is_seen and (not _DOCUMENT.search(edit.file) or edit.file == location)


def is_whole(line: str, files: Collection[str] = ()) -> bool:
    """Whether a check is of the whole project, or of folders with all of these files."""
    if _SELECTION.search(line):
        return False
    paths = {path.removesuffix("...").strip("./") for path in _path_arguments(line)} - {""}
    inside = (any(f"{file}/".startswith(f"{path}/") for path in paths) for file in files)
    return not paths or (bool(files) and all(inside))


def tries_tests(line: str, tests: frozenset[str], files: Collection[str]) -> bool:
    """Whether a run selects tests by name, or runs all of the project or of the files' folders."""
    if selected := _selected(line):
        return all(any(pattern in test for pattern in selected) for test in tests)
    return is_whole(line, files)


def place(turn: Turn) -> dict[str, Attribute]:
    """Return where a failure holds until a later turn ends it: its session, and its branch."""
    branch = turn.git_branch
    is_own = branch is not None and branch not in lexicon.DEFAULT_BRANCHES
    return {"session": turn.session_id, **({"branch": branch} if branch and is_own else {})}


def resolution_of(
    run: CompletedRun, failed: RunFailure, edits: Sequence[FileEdit], *, is_known: bool
) -> Resolution:
    is_corrected = not run.is_check and run.line != failed.line
    if edits or is_corrected or not run.is_shell:
        return Resolution.FIXED
    return Resolution.PASSED_ON_RERUN if is_known else Resolution.PASSED


def attributes(resolution: Resolution, edits: Sequence[FileEdit]) -> dict[str, Attribute]:
    """Return how a failure ended, with what the last subagent between reports that changed it."""
    told = next((edit.why for edit in reversed(edits) if edit.why and not edit.file), "")
    return {"resolution": str(resolution), **({"fix": told} if told else {})}


def fixes(failed: RunFailure, run: CompletedRun, edits: Sequence[FileEdit]) -> Iterator[FactDraft]:
    edit = _fixing_edit(failed, run, [edit for edit in edits if edit.file])
    if edit is not None:
        why = edit.why or edit_sentences.fix_phrase(edit.parts, failed.name)
        why = f": {prose.shorten(why, 240)}" if why else ""
        text = f"{failed.sentence()} and passed after `{edit.file}` was edited{why}"
        file = EntityKey(FILE, edit.file)
        yield FactDraft(
            _FIX_RANK, replace(failed.key, second_label=""), FIXED_BY, file, text, run.at or edit.at
        )


def place_edit(failed: RunFailure, edits: Sequence[FileEdit]) -> FileEdit | None:
    """Return the last edit of what a failure names: its file, its test, or a definition."""
    latest = [edit for edit in reversed(edits) if edit.file]
    case = failed.name.partition("/")[0]
    for evidence in (
        lambda edit: failed.location and f"/{edit.file}".endswith(f"/{failed.location}"),
        lambda edit: failed.kind is FailureKind.TEST and case in edit.change,
        lambda edit: any(edit_sentences.is_named(part, failed.name) for part in edit.parts),
        lambda edit: case in edit.why,
    ):
        if found := next(filter(evidence, latest), None):
            return found
    return None


def _fixing_edit(
    failed: RunFailure, run: CompletedRun, edits: Sequence[FileEdit]
) -> FileEdit | None:
    """Return the edit that made a failure pass: of what it names, else the only one.

    None if that cannot be told.
    """
    if not run.is_shell:
        return None
    if found := place_edit(failed, edits):
        return found
    latest = list(reversed(edits))
    is_sure = run.is_check and len({edit.file for edit in latest}) == 1
    return latest[0] if latest and is_sure else None
