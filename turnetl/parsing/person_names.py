"""Persons in git branches and paths, from texts alone, for `--redact-pii`.

A name counts only where people write their own: nothing distinguishes `jane` from the name of a
project anywhere else.
"""

import re
from collections.abc import Callable, Collection, Iterable

from turnetl.base.projects import user

_BRANCH_WORDS = """
    add api app auth backend backport bug bugfix build change chore ci cleanup cli client config
    core dep dependencies deploy deps dev develop development doc docs e2e enhancement epic exp
    experiment experimental feat feature features fix fixes frontend gh heads hotfix impl improve
    improvement infra issue issues lib main maint maintenance master merge migrate migration mobile
    ops origin patch perf poc pr preview prod production proposal prototype pull refactor refs
    release releases remotes remove research revert review rfc sandbox security server spike stable
    staging story style support tags task tasks temp test testing tests ticket tmp tooling topic ui
    update upgrade upstream web website wip work workspace worktree worktrees
    agent agents ai amp bot claude codex conductor copilot cursor dependabot devin entire gemini
    github-actions jules opencode pre-commit-ci renovate snyk superset sweep vibe-kanban vk
"""
_BRANCH_PREFIXES = frozenset(_BRANCH_WORDS.split())
"""First parts of branches that name a kind of work, a part of a program, or a program."""
_PERSON_FOLDERS = frozenset({"user", "users", "u", "people", "person", "personal"})
"""Parts of a branch that a person's name follows."""
_NAME = re.compile(r"[^\W\d_]{2,}(?:[._-][^\W\d_]+){0,3}\d{0,4}")
_FIRST_AND_LAST_NAME = re.compile(r"[^\W\d_]{2,}\.[^\W\d_]{2,}")

Replace = Callable[[str], str]
"""Returns what stands in place of a name."""


def users_in(paths: Iterable[str]) -> frozenset[str]:
    """Return the persons whose home folders hold the paths, in lower case."""
    users = {(user(path) or "").lower() for path in paths}
    return frozenset(filter(_is_personal, users))


def branch_without_persons(branch: str, users: Collection[str], replace: Replace) -> str:
    """Return a git branch without the names of persons.

    These are, between slashes: the name of a user, as `users_in` returns it; what follows `users/`;
    the first of several parts, if it looks like a name and is none of the usual prefixes; and
    `jane.doe` before the last slash.
    """
    parts = branch.split("/")
    for position, part in enumerate(parts):
        if part.lower() in users or (
            position < len(parts) - 1 and _is_person(parts, position, part.lower())
        ):
            parts[position] = replace(part)
    return "/".join(parts)


def path_without_persons(path: str, users: Collection[str], replace: Replace) -> str:
    """Return a path in which no folder has the name of a user, as `users_in` returns it."""
    if not users:
        return path
    parts = re.split(r"([/\\]|(?:(?<=[/\\])|\A)-(?:home|Users)-)", path)
    for position, part in enumerate(parts):
        if part.lower() in users:
            parts[position] = replace(part)
        elif position and parts[position - 1].endswith("-"):
            # The name that Claude Code derives from the path of a project.
            name, dash, rest = part.partition("-")
            parts[position] = (replace(name) if name.lower() in users else name) + dash + rest
    return "".join(parts)


def _is_person(parts: list[str], position: int, part: str) -> bool:
    """Return whether a part before the last one is a person's name."""
    if position and parts[position - 1].lower() in _PERSON_FOLDERS:
        return bool(part)
    if position:
        return _FIRST_AND_LAST_NAME.fullmatch(part) is not None
    return (
        part not in _BRANCH_PREFIXES | _PERSON_FOLDERS
        and _NAME.fullmatch(part) is not None
        and _is_personal(part)
    )


def _is_personal(name: str) -> bool:
    from turnetl.redact.pii.subject import is_personal_account  # noqa: PLC0415 - on request

    return is_personal_account(name)
