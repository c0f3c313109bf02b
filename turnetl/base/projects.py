"""The project of a working directory, from its text alone.

The disk is not read: the folder may be deleted or on another machine. The rules are few and prefer
two groups for one project: a map file can join groups, but nothing can split a graph.
"""

import re
from functools import lru_cache

NO_PROJECT = "no_project"
"""Project of archives that name no folder (chat exports, Gemini), or only the root of the disk."""
HOME = "home"
"""Project of work in the home folder itself: a user's name is not a project."""
TEMPORARY = "tmp"
"""Project of temporary folders with random names."""

_HOMES = (
    ("home", "*"),
    ("users", "*"),
    ("var", "home", "*"),
    ("usr", "home", "*"),
    ("export", "home", "*"),
    ("root",),
    ("~",),
)
_TEMPORARY = (("tmp",), ("var", "tmp"), ("var", "folders", "*", "*", "t"), ("windows", "temp"))
_TEMPORARY_AT_HOME = ("appdata", "local", "temp")
_RANDOM_NAME = re.compile(
    r"tmp[._-]?\w{6,}|[0-9a-f]{8}(?:-?[0-9a-f]{4,})*", re.ASCII | re.IGNORECASE
)

_WORKTREE_FOLDERS = {
    ("conductor", "workspaces"): 0,
    ("superpowers", "worktrees"): 0,
    ("vibe-kanban", "worktrees"): 1,
    (".vibe-kanban-workspaces",): 1,
}
"""Folders in which tools keep worktrees of many repositories, with the number of folders between
them and the repository's name."""
_WORKTREE_FOLDERS_AT_HOME = {".codex": 1, ".vibe-kanban": 1}
"""The same for tools that keep worktrees in a hidden folder of the home folder; 0 for others."""
_ID = re.compile(r"[0-9a-f]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MARKERS = (".git", ".worktrees", ".worktree", ".trees", ".conductor")


@lru_cache(maxsize=1024)
def project(cwd: str | None) -> str:
    """Return the name of the project that a working directory belongs to.

    That is the name of the last folder. A worktree belongs to its repository: `/home/dev/shop`,
    `/home/dev/shop/.worktrees/fix/cart` and `/home/dev/.codex/worktrees/44be/shop` are all `shop`.
    """
    if (folders := _cwd_folders(cwd)) is None:
        return NO_PROJECT
    project_path = _project_path(folders)
    if not project_path:
        return NO_PROJECT
    if len(project_path) <= _prefix_length(project_path, _HOMES):
        return HOME
    if _is_random(project_path):
        return TEMPORARY
    return project_path[-1].removesuffix(".git") or project_path[-1]


def project_root(cwd: str | None) -> str | None:
    """Return the project's folder in a comparable form: `~/work/shop` on every machine.

    None if the path names no folder, a temporary one, or a worktree outside its repository.
    """
    folders = _cwd_folders(cwd)
    if folders is None or _external_worktree(folders) is not None or _is_random(folders):
        return None
    project_path = _project_path(folders)
    return home_relative(project_path) or "/" + "/".join(project_path)


def user(cwd: str | None) -> str | None:
    """Return the user whose home folder holds the working directory; None: no user, or redacted."""
    folders = _cwd_folders(cwd) or []
    length = _prefix_length(folders, _HOMES)
    name = folders[length - 1] if length else "~"
    return None if name == "~" or "redacted" in name.lower() else name


def home_relative(folders: list[str]) -> str | None:
    """Return a path in a home folder in a form that starts with `~`, or None."""
    length = _prefix_length(folders, _HOMES)
    return "/".join(["~", *folders[length:]]) if length else None


def path_folders(path: str) -> list[str]:
    """Return the folders of a path of any operating system, from the root.

    A drive is a folder `c:`, whether it is written as on Windows, in WSL (`/mnt/c`) or in Git Bash
    (`/c/Users`).
    """
    text = path.strip().removeprefix("\\\\?\\")
    folders: list[str] = []
    for folder in re.split(r"[/\\]+", text):
        if folder == "..":
            folders = folders[:-1]
        elif folder not in ("", "."):
            folders.append(folder)
    return _with_drive(folders)


def _with_drive(folders: list[str]) -> list[str]:
    lower = [folder.lower() for folder in folders[:3]]
    if lower[:1] in (["wsl$"], ["wsl.localhost"]):
        return folders[2:]
    if lower[:1] in (["mnt"], ["cygdrive"]) and len(lower) > 1 and len(lower[1]) == 1:
        return [f"{lower[1]}:", *folders[2:]]
    if len(lower) > 1 and len(lower[0]) == 1 and lower[1] == "users":
        return [f"{lower[0]}:", *folders[1:]]
    if lower and re.fullmatch(r"[a-z]:", lower[0]):
        return [lower[0], *folders[1:]]
    return folders[1:] if lower[:1] == ["private"] and len(lower) > 1 else folders


def _cwd_folders(cwd: str | None) -> list[str] | None:
    """Return the folders of a working directory; None if it is missing or a placeholder."""
    text = (cwd or "").strip()
    is_placeholder = not re.search(r"[/\\]", text) and text.startswith(("[", "<", "."))
    return None if not text or is_placeholder else path_folders(text)


def _project_path(folders: list[str]) -> list[str]:
    """Return the folders up to the project's own; a worktree gives those of its repository."""
    external = _external_worktree(folders)
    if external is not None:
        return external
    for position, folder in enumerate(folders):
        if _marker_length(folders, position) and position > _base_length(folders):
            return folders[:position]
        if folder.lower().endswith(".worktrees") and not folder.startswith("."):
            return [*folders[:position], folder[: -len(".worktrees")]]
    without_drive = folders[1:] if folders[:1] and folders[0].endswith(":") else folders
    return folders if without_drive else []


def _external_worktree(folders: list[str]) -> list[str] | None:
    """Return the folders up to the repository's name, in a place where a tool keeps worktrees."""
    for position in range(len(folders)):
        marker_length = _marker_length(folders, position)
        for place, skipped in _WORKTREE_FOLDERS.items():
            if tuple(folders[position : position + len(place)]) == place:
                return _repository(folders, position + len(place), skipped)
        if marker_length and position <= _base_length(folders):
            skipped = _WORKTREE_FOLDERS_AT_HOME.get(folders[position], 0)
            return _repository(folders, position + marker_length, skipped)
    return None


def _repository(folders: list[str], start: int, skipped: int) -> list[str] | None:
    """Return the folders up to the repository's name, or None if there is none."""
    if start >= len(folders):
        return None
    if skipped == 0 and _ID.fullmatch(folders[start]):
        skipped = 1
    return folders[: min(start + skipped + 1, len(folders))]


def _marker_length(folders: list[str], position: int) -> int:
    """Return the number of folders, from here on, that mark git's own folder or worktrees."""
    folder = folders[position]
    if not folder.startswith("."):
        return 0
    if folder in _MARKERS or folder.endswith("-worktrees"):
        return 1
    return 2 if folders[position + 1 : position + 2] in (["worktrees"], ["worktree"]) else 0


def _base_length(folders: list[str]) -> int:
    """Return the number of folders up to a home folder, a temporary folder or a drive."""
    return max(_prefix_length(folders, _HOMES), _temporary_length(folders), _drive_length(folders))


def _temporary_length(folders: list[str]) -> int:
    home = _prefix_length(folders, _HOMES)
    below = tuple(folder.lower() for folder in folders[home : home + 3])
    return home + 3 if home and below == _TEMPORARY_AT_HOME else _prefix_length(folders, _TEMPORARY)


def _is_random(folders: list[str]) -> bool:
    """Return whether this is a temporary folder, or one in it with a random name."""
    length = _temporary_length(folders)
    if not length:
        return False
    below = folders[length:]
    return not below or (len(below) == 1 and _RANDOM_NAME.fullmatch(below[0]) is not None)


def _drive_length(folders: list[str]) -> int:
    return 1 if folders and folders[0].endswith(":") else 0


def _prefix_length(folders: list[str], prefixes: tuple[tuple[str, ...], ...]) -> int:
    """Return the number of folders that match the first matching prefix, with the drive; else 0."""
    drive = _drive_length(folders)
    lower = [folder.lower() for folder in folders[drive:]]
    for prefix in prefixes:
        head = lower[: len(prefix)]
        if len(head) == len(prefix) and all(
            name in ("*", folder) for folder, name in zip(head, prefix, strict=True)
        ):
            return drive + len(prefix)
    return 0
