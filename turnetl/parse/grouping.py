"""Which group the turns of an archive go to: by default one for each project.

What a person says of this run wins over what they wrote down: a fixed name with --group, then the
first entry of the map file that fits, then a template with --group, then the default.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from turnetl import ids
from turnetl.model import GroupId
from turnetl.parse import group_names
from turnetl.parse.group_map import Entry, names_of, read_map
from turnetl.parse.projects import project, root, user

_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Grouping:
    """How groups are found; without a word of the person's: one for each project."""

    explicit: str | None = None
    """The text given with --group: a name or a template; None for the default."""
    user: str = ""
    """Stands in where a working folder is in nobody's home folder."""
    host: str = ""
    exceptions: tuple[Entry, ...] = ()
    """Of the map file, in order."""

    @property
    def is_fixed(self) -> bool:
        """Say whether all archives go to one group that the person named."""
        return self.explicit is not None and group_names.is_fixed(self.explicit)

    def group(self, cwd: str | None, format: str, archive: str) -> GroupId:  # noqa: A002  {format}
        """Return the group of an archive. Touches no disk; the same in, the same out.

        Args:
            cwd: the working folder that the archive names first, redacted; None if it names none.
            format: the name of the format that reads it.
            archive: its path, from the root.
        """
        named = self.named(cwd, format, archive)
        return named or group_names.bounded(ids.group_id(project(cwd)))

    def named(self, cwd: str | None, format: str, archive: str) -> GroupId | None:  # noqa: A002
        """Return the group that a person named for an archive like this, or None by default."""
        said = self._exception(cwd, format, archive) or self.explicit
        if said is None:
            return None
        values = {
            "project": project(cwd),
            "format": format,
            "user": user(cwd) or self.user,
            "host": self.host,
        }
        return group_names.fill(said, values)

    def joins_on_purpose(self, cwd: str | None, format: str, archive: str) -> bool:  # noqa: A002
        """Say whether a fixed name or the map file leads an archive like this to its group."""
        return self.is_fixed or self._exception(cwd, format, archive) is not None

    def _exception(self, cwd: str | None, format_name: str, archive: str) -> str | None:
        if not self.exceptions or self.is_fixed:
            return None
        place, path = names_of(cwd), names_of(archive)
        fitting = (of.name for of in self.exceptions if of.fits(place, format_name, path))
        return next(fitting, None)


@dataclass(frozen=True, slots=True)
class NameCollision:
    """A group to which the folders of several projects lead, though nobody said so."""

    group: GroupId
    folders: tuple[str, ...]
    """Sorted; `~` is anybody's home folder."""

    @property
    def message(self) -> str:
        shown = ", ".join(f"`{folder}`" for folder in self.folders[:_SHOWN])
        more = len(self.folders) - _SHOWN
        others = f" and {more:,} more" if more > 0 else ""
        return (
            f"group `{self.group}` joins {len(self.folders):,} folders: {shown}{others}; "
            "if they are not one project, part them with --group-map."
        )


def load_grouping(template: str | None, map_file: Path | None, *, user: str, host: str) -> Grouping:
    """Put together what a person said about groups.

    Args:
        template: of --group: a name, or one with {project}, {format}, {user}, {host} in it.
        map_file: of --group-map: a TOML file of exceptions.
        user: who runs this; stands in where a working folder names nobody.
        host: the machine this runs on.

    Raises:
        BadUsage: an unknown placeholder, or a file that makes no sense; says where and what to do.
    """
    if template is not None:
        group_names.check(template, "--group")
    exceptions = read_map(map_file) if map_file is not None else ()
    return Grouping(template, user, host, exceptions)


def find_name_collisions(
    archives: Iterable[tuple[str | None, str, str]], by: Grouping | None = None
) -> tuple[NameCollision, ...]:
    """Return the groups that several projects' folders fall into by their names alone, sorted.

    Args:
        archives: working folder, format and path of each, as `Grouping.group` takes them.
        by: how they were grouped; what a fixed name or a map file joins, somebody meant to join.
    """
    by = by or Grouping()
    found: dict[GroupId, dict[str, str]] = {}
    for archive in archives:
        folder = root(archive[0])
        if folder is not None and not by.joins_on_purpose(*archive):
            found.setdefault(by.group(*archive), {}).setdefault(folder.lower(), folder)
    return tuple(
        NameCollision(group, tuple(sorted(folders.values())))
        for group, folders in sorted(found.items())
        if len(folders) > 1
    )
