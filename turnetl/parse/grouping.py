"""Which group the turns of an archive go to: by default one for each project."""

import re
from dataclasses import dataclass
from pathlib import Path

from turnetl import ids
from turnetl.model import GroupId

NO_PROJECT = "no_project"


@dataclass(frozen=True, slots=True)
class Grouping:
    """How groups are found; without a word of the person's: one for each project."""

    explicit: str | None = None
    """The text given with --group: a name or a template; None for the default."""

    def group(self, cwd: str | None, format: str, archive: str) -> GroupId:  # noqa: A002  {format}
        """Return the group of an archive. Touches no disk; the same in, the same out.

        Args:
            cwd: the working folder that the archive names first, redacted; None if it names none.
            format: the name of the format that reads it.
            archive: its path, from the root.
        """
        return ids.group_id(self.explicit or project(cwd))


def grouping(template: str | None, map_file: Path | None, *, user: str, host: str) -> Grouping:
    """Put together what a person said about groups.

    Args:
        template: of --group: a name, or one with {project}, {format}, {user}, {host} in it.
        map_file: of --group-map: a TOML file of exceptions.
        user: who runs this; stands in where a working folder names nobody.
        host: the machine this runs on.

    Raises:
        BadUsage: an unknown placeholder, or a file that makes no sense; says where and what to do.
    """
    return Grouping(template)


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
