"""The group of an archive's turns: by default one group for each project.

The user's choices take precedence in this order: a fixed name with --group, as it is if the lake
has a group of that name, the first matching
entry of the group map file, a template with --group, the default.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from turnetl.base import ids
from turnetl.base.model import GroupId
from turnetl.base.result_fields import GroupField
from turnetl.base.results import described
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
    existing: GroupId | None = None
    """A group that exists, whatever its name: all archives go to it. None: there is none."""

    @property
    def is_fixed(self) -> bool:
        """Return whether all archives go to one group that the user named."""
        if self.existing is not None:
            return True
        return self.template is not None and group_names.is_fixed(self.template)

    @property
    def names(self) -> tuple[str, ...]:
        """The names and templates that the user chose, as `with_names` takes them."""
        template = () if self.template is None else (self.template,)
        return (*template, *(entry.name for entry in self.map_entries))

    def with_names(self, names: Sequence[str]) -> "Grouping":
        """Return the same choices with other names, in the order of `names`."""
        first_entry = len(names) - len(self.map_entries)
        entries = zip(self.map_entries, names[first_entry:], strict=True)
        return replace(
            self,
            template=names[0] if first_entry else None,
            map_entries=tuple(replace(entry, name=name) for entry, name in entries),
        )

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
        if self.existing is not None:
            return self.existing
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
    """A group that several folders share only because they have the same name."""

    group: GroupField
    folders: Annotated[tuple[str, ...], described("The folders, sorted.")]
    """`~` is any home folder."""

    @property
    def message(self) -> str:
        shown = ", ".join(f"`{folder}`" for folder in self.folders[:_SHOWN_FOLDERS])
        omitted = len(self.folders) - _SHOWN_FOLDERS
        more = f" and {omitted:,} more" if omitted > 0 else ""
        return (
            f"group `{self.group}` joins {len(self.folders):,} folders: {shown}{more}; "
            "if they are not one project, separate them with --group-map."
        )


def load_grouping(
    template: str | None,
    map_file: Path | None,
    *,
    user: str,
    host: str,
    map_content: bytes | None = None,
) -> Grouping:
    """Return the grouping for the user's choices.

    Args:
        template: the value of --group: a name, or a template with {project}, {format}, {user},
            {host}.
        map_file: the value of --group-map: a TOML file.
        user: the user who runs turnetl; used for a working directory that names no user.
        host: the machine that runs turnetl.
        map_content: the content of the file, if it was read before.

    Raises:
        BadUsage: an unknown placeholder or an invalid file; the message says where and what to do.
    """
    if template is not None:
        group_names.check_template(template, "--group")
    entries = load_group_map(map_file, map_content) if map_file is not None else ()
    return Grouping(template, user, host, entries)


def find_name_collisions(
    archives: Iterable[tuple[str | None, GroupId]],
) -> tuple[NameCollision, ...]:
    """Return the groups that join folders of several projects by their names alone, sorted.

    Args:
        archives: working directory and group of each, without those that the user grouped
            intentionally.
    """
    folders_by_group: dict[GroupId, dict[str, str]] = {}
    for cwd, group in archives:
        folder = project_root(cwd)
        if folder is not None:
            folders = folders_by_group.setdefault(group, {})
            folders.setdefault(folder.lower(), folder)
    return tuple(
        NameCollision(group, tuple(sorted(folders.values())))
        for group, folders in sorted(folders_by_group.items())
        if len(folders) > 1
    )
