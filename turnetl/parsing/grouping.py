"""The group of an archive's turns: by default one group for each project.

The user's choices take precedence in this order: a fixed name with --group, the first matching
entry of the group map file, a template with --group, the default.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from turnetl import ids
from turnetl.model import GroupId
from turnetl.parsing import group_names
from turnetl.parsing.group_map import GroupMapEntry, load_group_map, path_variants
from turnetl.parsing.projects import project, project_root, user

_SHOWN_FOLDERS = 4


@dataclass(frozen=True, slots=True)
class Grouping:
    """The user's choices about groups; without any, one group for each project."""

    template: str | None = None
    """The value of --group, a name or a template; None for the default."""
    user: str = ""
    """Value of {user} for a working directory that is in no home folder."""
    host: str = ""
    map_entries: tuple[GroupMapEntry, ...] = ()
    """Entries of the group map file, in order."""

    @property
    def is_fixed(self) -> bool:
        """Return whether all archives go to one group that the user named."""
        return self.template is not None and group_names.is_fixed(self.template)

    def group(self, cwd: str | None, format: str, archive: str) -> GroupId:  # noqa: A002  {format}
        """Return the group of an archive. Deterministic, without access to the disk.

        Args:
            cwd: the first working directory in the archive, redacted; None if it names none.
            format: the name of the archive's format.
            archive: its absolute path.
        """
        explicit = self.explicit_group(cwd, format, archive)
        return explicit or group_names.bounded_group_id(ids.group_id(project(cwd)))

    def explicit_group(
        self,
        cwd: str | None,
        format: str,  # noqa: A002  {format}
        archive: str,
    ) -> GroupId | None:
        """Return the group that the user named for such an archive; None: the default applies."""
        template = self._mapped_name(cwd, format, archive) or self.template
        if template is None:
            return None
        values = {
            "project": project(cwd),
            "format": format,
            "user": user(cwd) or self.user,
            "host": self.host,
        }
        return group_names.expand_template(template, values)

    def is_intentional(self, cwd: str | None, format: str, archive: str) -> bool:  # noqa: A002
        """Return whether a fixed name or the group map file decides the archive's group."""
        return self.is_fixed or self._mapped_name(cwd, format, archive) is not None

    def _mapped_name(self, cwd: str | None, format_name: str, archive: str) -> str | None:
        if not self.map_entries or self.is_fixed:
            return None
        folders, paths = path_variants(cwd), path_variants(archive)
        names = (
            entry.name for entry in self.map_entries if entry.matches(folders, format_name, paths)
        )
        return next(names, None)


@dataclass(frozen=True, slots=True)
class NameCollision:
    """A group that joins the folders of several projects although the user did not ask for it."""

    group: GroupId
    folders: tuple[str, ...]
    """Sorted; `~` is any home folder."""

    @property
    def message(self) -> str:
        shown = ", ".join(f"`{folder}`" for folder in self.folders[:_SHOWN_FOLDERS])
        omitted = len(self.folders) - _SHOWN_FOLDERS
        more = f" and {omitted:,} more" if omitted > 0 else ""
        return (
            f"group `{self.group}` joins {len(self.folders):,} folders: {shown}{more}; "
            "if they are not one project, separate them with --group-map."
        )


def load_grouping(template: str | None, map_file: Path | None, *, user: str, host: str) -> Grouping:
    """Return the grouping for the user's choices.

    Args:
        template: the value of --group: a name, or a template with {project}, {format}, {user},
            {host}.
        map_file: the value of --group-map: a TOML file.
        user: the user who runs turnetl; used for a working directory that names no user.
        host: the machine that runs turnetl.

    Raises:
        BadUsage: an unknown placeholder or an invalid file; the message says where and what to do.
    """
    if template is not None:
        group_names.check_template(template, "--group")
    entries = load_group_map(map_file) if map_file is not None else ()
    return Grouping(template, user, host, entries)


def find_name_collisions(
    archives: Iterable[tuple[str | None, str, str]], grouping: Grouping | None = None
) -> tuple[NameCollision, ...]:
    """Return the groups that join folders of several projects by their names alone, sorted.

    Args:
        archives: working directory, format and path of each, as `Grouping.group` takes them.
        grouping: how they were grouped. A fixed name or a map file joins folders intentionally.
    """
    grouping = grouping or Grouping()
    folders_by_group: dict[GroupId, dict[str, str]] = {}
    for archive in archives:
        folder = project_root(archive[0])
        if folder is not None and not grouping.is_intentional(*archive):
            folders = folders_by_group.setdefault(grouping.group(*archive), {})
            folders.setdefault(folder.lower(), folder)
    return tuple(
        NameCollision(group, tuple(sorted(folders.values())))
        for group, folders in sorted(folders_by_group.items())
        if len(folders) > 1
    )
