"""Whose project a working folder is, told by its path alone.

No disk is looked at: the folder may be long gone, or on another machine. Hence the rules are few,
and err on the side of two groups for one project: a map file joins them, nothing parts a graph.
"""

import re
from functools import lru_cache

NO_PROJECT = "no_project"
"""Of archives that name no folder (chat exports, Gemini), or only the root of the disk."""
HOME = "home"
"""Of work in the home folder itself: a person's name is no project."""
TEMPORARY = "tmp"
"""Of temporary folders with names made by chance."""

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
_BY_CHANCE = re.compile(r"tmp[._-]?\w{6,}|[0-9a-f]{8}(?:-?[0-9a-f]{4,})*", re.ASCII | re.IGNORECASE)

_APART = {
    ("conductor", "workspaces"): 0,
    ("superpowers", "worktrees"): 0,
    ("vibe-kanban", "worktrees"): 1,
    (".vibe-kanban-workspaces",): 1,
}
"""Where tools keep worktrees of many repositories: how many folders stand before the name of the
repository."""
_AT_HOME = {".codex": 1, ".vibe-kanban": 1}
"""The same for tools that keep them in a hidden folder of the home folder; 0 for all others."""
_ID = re.compile(r"[0-9a-f]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MARKS = (".git", ".worktrees", ".worktree", ".trees", ".conductor")


@lru_cache(maxsize=1024)
def project(cwd: str | None) -> str:
    """Return the name of the project that a working folder belongs to.

    That is the last folder's name; a worktree belongs to its repository: `/home/dev/shop`,
    `/home/dev/shop/.worktrees/fix/cart` and `/home/dev/.codex/worktrees/44be/shop` are all `shop`.
    """
    if (folders := _named(cwd)) is None:
        return NO_PROJECT
    inside = _project(folders)
    if not inside:
        return NO_PROJECT
    if len(inside) <= _home(inside):
        return HOME
    if _is_by_chance(inside):
        return TEMPORARY
    return inside[-1].removesuffix(".git") or inside[-1]


def root(cwd: str | None) -> str | None:
    """Return the project's folder, for comparing: `~/work/shop` on every machine.

    None if no folder is named, or only a temporary one, or a worktree far from its repository.
    """
    folders = _named(cwd)
    if folders is None or _kept_apart(folders) is not None or _is_by_chance(folders):
        return None
    inside = _project(folders)
    return at_home(inside) or "/" + "/".join(inside)


def user(cwd: str | None) -> str | None:
    """Return whose home folder the working folder is in; None if nobody's, or if it was cut out."""
    folders = _named(cwd) or []
    length = _home(folders)
    name = folders[length - 1] if length else "~"
    return None if name == "~" or "redacted" in name.lower() else name


def at_home(folders: list[str]) -> str | None:
    """Return a path in a home folder as one that begins with `~`, or None."""
    length = _home(folders)
    return "/".join(["~", *folders[length:]]) if length else None


def path_folders(path: str) -> list[str]:
    """Return the folders of a path of any system, from the root.

    A drive is a folder `c:`, written as in Windows, in WSL (`/mnt/c`) or in Git Bash (`/c/Users`).
    """
    text = path.strip().removeprefix("\\\\?\\")
    folders: list[str] = []
    for folder in re.split(r"[/\\]+", text):
        if folder == "..":
            folders = folders[:-1]
        elif folder not in ("", "."):
            folders.append(folder)
    return _from_drive(folders)


def _from_drive(folders: list[str]) -> list[str]:
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


def _named(cwd: str | None) -> list[str] | None:
    """Return the folders of a working folder; None for what is no path: nothing, or a remark."""
    text = (cwd or "").strip()
    is_remark = not re.search(r"[/\\]", text) and text.startswith(("[", "<", "."))
    return None if not text or is_remark else path_folders(text)


def _project(folders: list[str]) -> list[str]:
    """Return the folders down to the project's own: worktrees stand for their repository."""
    apart = _kept_apart(folders)
    if apart is not None:
        return apart
    for place, folder in enumerate(folders):
        if _mark(folders, place) and place > _base(folders):
            return folders[:place]
        if folder.lower().endswith(".worktrees") and not folder.startswith("."):
            return [*folders[:place], folder[: -len(".worktrees")]]
    without_drive = folders[1:] if folders[:1] and folders[0].endswith(":") else folders
    return folders if without_drive else []


def _kept_apart(folders: list[str]) -> list[str] | None:
    """Return the folders down to the repository's name in a place where a tool keeps worktrees."""
    for place in range(len(folders)):
        mark = _mark(folders, place)
        for kept, before in _APART.items():
            if tuple(folders[place : place + len(kept)]) == kept:
                return _repository(folders, place + len(kept), before)
        if mark and place <= _base(folders):
            return _repository(folders, place + mark, _AT_HOME.get(folders[place], 0))
    return None


def _repository(folders: list[str], start: int, before: int) -> list[str] | None:
    """Return the folders down to the repository's name, or None if there is none."""
    if start >= len(folders):
        return None
    if before == 0 and _ID.fullmatch(folders[start]):
        before = 1
    return folders[: min(start + before + 1, len(folders))]


def _mark(folders: list[str], place: int) -> int:
    """Return how many folders mark a place for worktrees, or git's own, that begins here."""
    folder = folders[place]
    if not folder.startswith("."):
        return 0
    if folder in _MARKS or folder.endswith("-worktrees"):
        return 1
    return 2 if folders[place + 1 : place + 2] in (["worktrees"], ["worktree"]) else 0


def _home(folders: list[str]) -> int:
    """Return how many folders lead to the home folder, it included; 0 if none does."""
    return _led_by(folders, _HOMES)


def _base(folders: list[str]) -> int:
    """Return how many folders lead to what is a home folder or a temporary one."""
    return max(_home(folders), _temporary(folders), _drive(folders))


def _temporary(folders: list[str]) -> int:
    home = _home(folders)
    below = tuple(folder.lower() for folder in folders[home : home + 3])
    return home + 3 if home and below == _TEMPORARY_AT_HOME else _led_by(folders, _TEMPORARY)


def _is_by_chance(folders: list[str]) -> bool:
    """Say whether this is a temporary folder, or one in it with a name that tells nothing."""
    length = _temporary(folders)
    below = folders[length:] if length else None
    return below == [] or (below is not None and len(below) == 1 and _tells_nothing(below[0]))


def _tells_nothing(name: str) -> bool:
    return _BY_CHANCE.fullmatch(name) is not None


def _drive(folders: list[str]) -> int:
    return 1 if folders and folders[0].endswith(":") else 0


def _led_by(folders: list[str], places: tuple[tuple[str, ...], ...]) -> int:
    """Return how many folders lead to the first of the places that the path is in; 0 if none."""
    drive = _drive(folders)
    lower = [folder.lower() for folder in folders[drive:]]
    for place in places:
        there = lower[: len(place)]
        if len(there) == len(place) and all(map(_is_called, there, place)):
            return drive + len(place)
    return 0


def _is_called(folder: str, name: str) -> bool:
    return name in ("*", folder)
