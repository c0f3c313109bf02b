"""One name for one file, however a turn writes it.

Inside the project a file's name is its path from the project's root, the same in every checkout
and worktree; outside it is shortened. Files that no author would name have no name.
"""

import re
from dataclasses import dataclass
from posixpath import normpath

from turnetl.extraction.structural import lexicon

_HOME = re.compile(r"^(?:/Users/[^/]+|/home/[^/]+|/root|[A-Za-z]:/Users/[^/]+)(?=/|$)")
_WORKTREES = re.compile(
    r"^(.*?)/(?:\.(?:claude|git)/worktrees|[\w.-]{0,80}worktrees|\.trees)/(.+)$"
)
_TREES_INSIDE = re.compile(r"^(?:\.worktrees|\.claude/worktrees|\.git/worktrees|\.trees)/")
_NOT_A_PATH = re.compile(r"[\x00-\x1f\x7f*?{}<>|$\"'`;=]|\s{2}|://|\.\.\.|…")
_LINE = re.compile(r"(?::\d{1,7}){1,2}(?:-\d{1,7})?$|#L\d{1,7}.*$")
_PASSING = re.compile(r"^(?:/private)?/(?:tmp|var|dev|proc|sys|run)(?:/|$)")
_JUNK_PART = re.compile(
    r"(?:^|/)(?:node_modules|\.git|__pycache__|\.?venv|site-packages|\.cache|caches?|Caches"
    r"|\.(?:pytest|mypy|ruff)_cache|\.next|\.tox|tool-results|\.npm|pkg/mod|\.claude/(?:projects"
    r"|plans"
    r"|todos|shell-snapshots|file-history)|scratchpad|te?mp)(?:/|$)"
)
_JUNK_NAME = re.compile(
    r"(?:^|/)(?:[0-9a-f]{12,64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d+)(?:\.\w{1,8})?$"
    r"|\.(?:pyc|tmp|swp|log|pid|output|bak|o|class)$|(?:^|/)\.DS_Store$",
    re.IGNORECASE,
)
_LONGEST = 240
_SHOWN_OUTSIDE = 4
_HOME_DEPTH = 2


@dataclass(frozen=True, slots=True)
class ProjectPaths:
    """Where a turn stands: its working directory and the root above it."""

    group: str
    cwd: str
    root: str

    def file(self, path: str) -> str | None:
        """Return the name of the file that a tool was given, or None for junk."""
        path = _clean(path)
        if not path:
            return None
        return self._absolute(path) if _is_absolute(path) else self._relative(path)

    def mentioned(self, path: str) -> str | None:
        """Return the name of a file that a text speaks of: relative ones count from the root."""
        path = _clean(path)
        if not path:
            return None
        return self._absolute(path) if _is_absolute(path) else _named(normpath(path))

    def _relative(self, path: str) -> str | None:
        below = _below(self.cwd, self.root) or ""
        path = normpath(path)
        if not self.cwd or (below and path.startswith(below + "/")):
            return _named(path)
        return self._absolute(normpath(f"{self.cwd}/{path}"))

    def _absolute(self, path: str) -> str | None:
        path = normpath(path)
        inside = _below(path, self.root)
        if inside is not None and not _TREES_INSIDE.match(inside):
            return _named(inside)
        elsewhere = project_root(path, self.group, None, sure=True)
        if elsewhere:
            return _named(_below(path, elsewhere) or "")
        return None if _PASSING.match(path) else _named(_short(path))


def project(group: str, cwd: str | None, branch: str | None) -> ProjectPaths:
    """Find the project's root from what a turn says of itself."""
    here = normpath(cwd.replace("\\", "/")) if cwd and _is_absolute(cwd) else ""
    return ProjectPaths(group, here, project_root(here, group, branch) if here else "")


def project_root(path: str, group: str, branch: str | None, *, sure: bool = False) -> str:
    """Return the root of the checkout that `path` lies in.

    Args:
        sure: say nothing rather than guess.
    """
    tree = _WORKTREES.match(path)
    if tree:
        return f"{path[: tree.start(2)]}{_tree_name(tree.group(2), branch)}"
    parts = path.split("/")
    start = _HOME_DEPTH + 1 if _HOME.match(path) else 1
    for place in range(start, len(parts)):
        if _is_group(parts[place], group):
            return "/".join(parts[: place + 1])
    return "" if sure else _above_sources(parts, start)


def _tree_name(rest: str, branch: str | None) -> str:
    if branch and (rest == branch or rest.startswith(branch + "/")):
        return branch
    parts = rest.split("/")
    # `worktrees/<person>/<fix-the-thing>`: a branch's own slash, not a folder of the project.
    owned = len(parts) > 1 and "-" in parts[1] and "." not in parts[1]
    return "/".join(parts[: 1 + owned])


def _above_sources(parts: list[str], start: int) -> str:
    for place in range(start + 1, len(parts)):
        if parts[place] in lexicon.SOURCES:
            return "/".join(parts[:place])
    return "/".join(parts)


def _is_group(part: str, group: str) -> bool:
    slug = re.sub(r"[^a-z0-9]+", "_", part.lower()).strip("_")
    return bool(slug) and (slug == group or group.endswith(f"_{slug}"))


def _clean(path: str) -> str:
    path = _LINE.sub("", path[: 2 * _LONGEST].strip().removeprefix("file://"))
    if "\\" in path and ("/" not in path or path[1:3] == ":\\"):
        path = path.replace("\\", "/")
    return "" if len(path) > _LONGEST or _NOT_A_PATH.search(path) else path


def _is_absolute(path: str) -> bool:
    return path.startswith(("/", "~")) or path[1:3] in {":/", ":\\"}


def _below(path: str, root: str) -> str | None:
    if not root:
        return None
    if path == root:
        return ""
    return path[len(root) + 1 :] if path.startswith(root.rstrip("/") + "/") else None


def _short(path: str) -> str:
    home = _HOME.sub("~", path)
    parts = home.split("/")
    if len(parts) <= _SHOWN_OUTSIDE + 1:
        return home
    return "/".join([parts[0], "…", *parts[-_SHOWN_OUTSIDE + 1 :]])


def _named(name: str) -> str | None:
    if name in {"", ".", "~", "/"} or name.startswith("../") or name == "..":
        return None
    return None if _JUNK_PART.search(name) or _JUNK_NAME.search(name) else name
