"""Normalises file paths: one name for one file, however a turn writes its path.

Inside the project, the name of a file is its path from the project's root, the same in every
checkout and worktree; outside it, the path is shortened. Temporary and generated files have no
name.
"""

import re
from dataclasses import dataclass
from posixpath import normpath

from turnetl.extraction.structural import lexicon

_HOME = re.compile(r"^(?:/Users/[^/]+|/home/[^/]+|/root|[A-Za-z]:/Users/[^/]+)(?=/|$)")
_WORKTREES = re.compile(
    r"^(.*?)/(?:\.(?:claude|git)/worktrees|[\w.-]{0,80}worktrees|\.trees)/(.+)$"
)
_NESTED_WORKTREES = re.compile(r"^(?:\.worktrees|\.claude/worktrees|\.git/worktrees|\.trees)/")
_NOT_A_PATH = re.compile(r"[\x00-\x1f\x7f*?{}<>|$\"'`;=]|\s{2}|://|\.\.\.|…")
_LINE_SUFFIX = re.compile(r"(?::\d{1,7}){1,2}(?:-\d{1,7})?$|#L\d{1,7}.*$")
_SYSTEM_FOLDERS = re.compile(r"^(?:/private)?/(?:tmp|var|dev|proc|sys|run)(?:/|$)")
_GENERATED_FOLDERS = re.compile(
    r"(?:^|/)(?:node_modules|\.git|__pycache__|\.?venv|site-packages|\.cache|caches?|Caches"
    r"|\.(?:pytest|mypy|ruff)_cache|\.next|\.tox|tool-results|\.npm|pkg/mod|\.claude/(?:projects"
    r"|plans"
    r"|todos|shell-snapshots|file-history)|scratchpad|te?mp)(?:/|$)"
)
_GENERATED_FILES = re.compile(
    r"(?:^|/)(?:[0-9a-f]{12,64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d+)(?:\.\w{1,8})?$"
    r"|\.(?:pyc|tmp|swp|log|pid|output|bak|o|class)$|(?:^|/)\.DS_Store$",
    re.IGNORECASE,
)
_MAX_LENGTH = 240
_MAX_OUTSIDE_PARTS = 4
_HOME_DEPTH = 2


@dataclass(frozen=True, slots=True)
class ProjectPaths:
    """The paths of a turn: its working directory and the project root above it."""

    group: str
    cwd: str
    root: str

    def file(self, path: str) -> str | None:
        """Return the name of a file in a tool call, or None for a generated file."""
        path = _clean(path)
        if not path:
            return None
        return self._absolute(path) if _is_absolute(path) else self._relative(path)

    def mentioned(self, path: str) -> str | None:
        """Return the name of a file in a text: a relative path starts at the project root."""
        path = _clean(path)
        if not path:
            return None
        return self._absolute(path) if _is_absolute(path) else _unless_generated(normpath(path))

    def _relative(self, path: str) -> str | None:
        below = _relative_to(self.cwd, self.root) or ""
        path = normpath(path)
        if not self.cwd or (below and path.startswith(below + "/")):
            return _unless_generated(path)
        return self._absolute(normpath(f"{self.cwd}/{path}"))

    def _absolute(self, path: str) -> str | None:
        path = normpath(path)
        inside = _relative_to(path, self.root)
        if inside is not None and not _NESTED_WORKTREES.match(inside):
            return _unless_generated(inside)
        other_root = project_root(path, self.group, None, is_strict=True)
        if other_root:
            return _unless_generated(_relative_to(path, other_root) or "")
        return None if _SYSTEM_FOLDERS.match(path) else _unless_generated(_shortened(path))


def project_paths(group: str, cwd: str | None, branch: str | None) -> ProjectPaths:
    """Return the paths of a turn, from its working directory and branch."""
    directory = normpath(cwd.replace("\\", "/")) if cwd and _is_absolute(cwd) else ""
    return ProjectPaths(
        group, directory, project_root(directory, group, branch) if directory else ""
    )


def project_root(path: str, group: str, branch: str | None, *, is_strict: bool = False) -> str:
    """Return the root of the checkout that contains `path`.

    Args:
        path: an absolute path.
        group: the group, whose name the root folder may have.
        branch: the Git branch, which a worktree's folder may be named after.
        is_strict: return an empty string instead of a guess.
    """
    worktree = _WORKTREES.match(path)
    if worktree:
        return f"{path[: worktree.start(2)]}{_worktree_name(worktree.group(2), branch)}"
    parts = path.split("/")
    start = _HOME_DEPTH + 1 if _HOME.match(path) else 1
    for index in range(start, len(parts)):
        if _is_group(parts[index], group):
            return "/".join(parts[: index + 1])
    return "" if is_strict else _parent_of_source_folder(parts, start)


def _worktree_name(rest: str, branch: str | None) -> str:
    if branch and (rest == branch or rest.startswith(branch + "/")):
        return branch
    parts = rest.split("/")
    # In `worktrees/<user>/<fix-the-bug>` the slash is part of the branch name.
    has_owner = len(parts) > 1 and "-" in parts[1] and "." not in parts[1]
    return "/".join(parts[: 1 + has_owner])


def _parent_of_source_folder(parts: list[str], start: int) -> str:
    for index in range(start + 1, len(parts)):
        if parts[index] in lexicon.PROJECT_FOLDERS:
            return "/".join(parts[:index])
    return "/".join(parts)


def _is_group(part: str, group: str) -> bool:
    slug = re.sub(r"[^a-z0-9]+", "_", part.lower()).strip("_")
    return bool(slug) and (slug == group or group.endswith(f"_{slug}"))


def _clean(path: str) -> str:
    path = _LINE_SUFFIX.sub("", path[: 2 * _MAX_LENGTH].strip().removeprefix("file://"))
    if "\\" in path and ("/" not in path or path[1:3] == ":\\"):
        path = path.replace("\\", "/")
    return "" if len(path) > _MAX_LENGTH or _NOT_A_PATH.search(path) else path


def _is_absolute(path: str) -> bool:
    return path.startswith(("/", "~")) or path[1:3] in {":/", ":\\"}


def _relative_to(path: str, root: str) -> str | None:
    if not root:
        return None
    if path == root:
        return ""
    return path[len(root) + 1 :] if path.startswith(root.rstrip("/") + "/") else None


def _shortened(path: str) -> str:
    home = _HOME.sub("~", path)
    parts = home.split("/")
    if len(parts) <= _MAX_OUTSIDE_PARTS + 1:
        return home
    return "/".join([parts[0], "…", *parts[-_MAX_OUTSIDE_PARTS + 1 :]])


def _unless_generated(name: str) -> str | None:
    if name in {"", ".", "~", "/"} or name.startswith("../") or name == "..":
        return None
    return None if _GENERATED_FOLDERS.search(name) or _GENERATED_FILES.search(name) else name
