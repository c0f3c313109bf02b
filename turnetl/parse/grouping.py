"""Which project a folder belongs to."""

import re

NO_PROJECT = "no_project"


def project(cwd: str | None) -> str:
    """Return the last folder's name; a worktree inside a project belongs to the project.

    `/home/dev/shop` and `/home/dev/shop/.worktrees/fix/cart` are both `shop`.
    """
    folders = _outside_worktrees(re.split(r"[/\\]+", cwd or ""))
    return next((folder for folder in reversed(folders) if folder), NO_PROJECT)


def _outside_worktrees(folders: list[str]) -> list[str]:
    for place, folder in enumerate(folders):
        after = folders[place + 1 : place + 2]
        if folder == ".worktrees" or (folder in (".claude", ".git") and after == ["worktrees"]):
            return folders[:place]
    return folders
