"""Templates by name: in the project's folder, the user's folder, then the built-in ones."""

import errno
import logging
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from turnetl.base.errors import BadUsage
from turnetl.base.private_files import NotReadable, read_inside, read_regular
from turnetl.extraction.config import TEMPLATE_SUFFIX, Template, parse_template_file

log = logging.getLogger(__name__)

TEMPLATES_FOLDER = Path(".graphiti") / "templates"
MAX_BYTES = 64 * 1024
"""Bytes of a template. A longer one would be paid for in every request."""

EMPTY_TEMPLATE = "has neither instructions nor noise patterns"
"""The problem of a template that consists of front matter only."""

_QUOTED_LENGTH = 80
"""Characters of a name that a message quotes."""
_PACKAGE = Path(__file__).resolve().parent.parent


class TemplateUnusable(BadUsage):
    """The template does not exist, or there is nothing to read in it."""


class TemplateResolver:
    """Finds templates in folders; the first folder that has the name wins, usable or not.

    A file that cannot be used still overrides those in later folders: its author gets an error
    instead of other instructions without notice.
    """

    def __init__(
        self,
        search_folders: Sequence[Path],
        project: Mapping[Path, bytes] | None = None,
        ignored: Mapping[str, str] | None = None,
    ) -> None:
        """Create a resolver; reads no file.

        Args:
            project: by path the content of the files in the first folder, which is not read: they
                are the bytes that the user trusts. None: all folders are read.
            ignored: by path in the folder a sentence about each file that is not used, because it
                is not trusted.
        """
        self.folders = tuple(search_folders)
        self._project = project
        self._ignored = ignored or {}

    def find(self, name: str) -> Path | None:
        """Return the effective path, which may be no file, or None. `name` is a bare file name."""
        return next(iter(self.find_all(name)), None)

    def find_all(self, name: str) -> tuple[Path, ...]:
        """Return every path with this name, files or not, the effective one first."""
        if Path(name).name != name or "\0" in name:
            return ()
        return tuple(path for f in dict.fromkeys(self.folders) if self._has(path := f / name))

    def names(self, suffix: str) -> list[str]:
        """Return the file names with this suffix, sorted, each once."""
        return sorted(
            {path.name for f in self.folders for path in self._listed(f) if path.suffix == suffix}
        )

    def subfolder(self, name: str) -> "TemplateResolver":
        ignored = {
            path.removeprefix(f"{name}/"): sentence
            for path, sentence in self._ignored.items()
            if path.startswith(f"{name}/")
        }
        return TemplateResolver([folder / name for folder in self.folders], self._project, ignored)

    def read_text(self, path: Path) -> tuple[str | None, str | None]:
        """Return the text of a file in one of the folders, or the problem with it.

        The file is a regular one inside its folder: its text is sent to the model, and a link could
        lead to any other file. Reads at most `MAX_BYTES`.

        Drops a byte order mark and converts CRLF line endings to LF, so that the same text has the
        same digest on every platform.
        """
        try:
            contents = self._contents(path.parent)
            data = _content(path) if contents is None else contents[path]
        except NotReadable as error:
            return None, str(error)
        return _text(data)

    def load(self, name: str) -> Template | None:
        """Return the parsed template; None, with a warning, if `read` raises TemplateUnusable."""
        try:
            return self.read(name)
        except TemplateUnusable as unusable:
            log.warning("%s: no preprocessing", unusable)
            return None

    def read(self, name: str) -> Template:
        """Return the parsed template, without leading and trailing blank lines.

        Raises:
            TemplateUnusable: no file has this name, or there is nothing to read in it; says which.
            BadUsage: the front matter is invalid.
        """
        path = self.find(name)
        if path is None:
            raise self.not_found(name)
        return _parsed(*self.read_text(path), path)

    def not_found(self, name: str, more: str = "") -> TemplateUnusable:
        """Return the error about a template that `find` does not find."""
        return TemplateUnusable(self.missing("template", name, self._hint(name) + more))

    def missing(self, kind: str, name: str, remedy: str = "") -> str:
        """Return the message about a name that no folder has, or only one that is not trusted."""
        quoted = name if len(name) <= _QUOTED_LENGTH else f"{name[:_QUOTED_LENGTH]}..."
        if name in self._ignored:
            return f"no {kind} `{quoted}`: {self._ignored[name]}"
        return f"no {kind} `{quoted}` in {', '.join(f'`{one}`' for one in self.folders)}{remedy}"

    def _contents(self, folder: Path) -> Mapping[Path, bytes] | None:
        """Return the content of the files in a folder; None if the folder is read."""
        return self._project if self.folders and folder == self.folders[0] else None

    def _has(self, path: Path) -> bool:
        contents = self._contents(path.parent)
        return _exists(path) if contents is None else path in contents

    def _listed(self, folder: Path) -> list[Path]:
        contents = self._contents(folder)
        if contents is None:
            return _listed(folder)
        return [path for path in contents if path.parent == folder]

    def _hint(self, name: str) -> str:
        if any(character.isspace() for character in name):
            return "; instructions that end in `.md` are read as a template's name"
        if Path(name).name != name:
            return "; give a template's name without folders"
        similar = get_close_matches(name, self.names(TEMPLATE_SUFFIX), n=1)
        return f"; a template `{similar[0]}` exists" if similar else ""


def read_template(path: Path) -> Template:
    """Return the template in a file that the user named, in any folder; a link is followed."""
    try:
        data = read_regular(path.resolve(), MAX_BYTES)
    except NotReadable as error:
        raise TemplateUnusable(f"template `{path}` {error}") from error
    return _parsed(*_text(data), path)


def search_folders(project: Path | None, home: Path) -> tuple[Path, ...]:
    """Return the template folders in search order; `project`: the working directory, if trusted."""
    roots = [home] if project is None else [project, home]
    return (*(root / TEMPLATES_FOLDER for root in roots), built_in_folder())


def built_in_folder(package: Path = _PACKAGE) -> Path:
    """Return the folder of the built-in templates for the `turnetl` package in this folder.

    A wheel has them inside the package, a checkout next to it. A folder next to an installed
    package is not ours, even if it has the same name.
    """
    inside = package / "_templates"
    return inside if inside.is_dir() else package.parent / "templates"


def _text(data: bytes) -> tuple[str | None, str | None]:
    """Return the text of a file with this content, or the problem with it."""
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None, "is not UTF-8 text"
    if not text.strip():
        return None, "is empty"
    return (None, "is not text") if "\0" in text else (text, None)


def _parsed(text: str | None, problem: str | None, path: Path) -> Template:
    if text is None:
        raise TemplateUnusable(f"template `{path}` {problem}")
    template = parse_template_file(text, path)
    if not (template.prompt or template.noise_patterns):
        raise TemplateUnusable(f"template `{path}` {EMPTY_TEMPLATE}")
    return template


def _content(path: Path) -> bytes:
    # Some installers fill a package with links into their cache.
    if path.is_relative_to(built_in_folder()):
        return read_regular(path.resolve(), MAX_BYTES)
    return read_inside(path, path.parent, MAX_BYTES)


def _exists(path: Path) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        # Long instructions that end in `.md` are looked up as a name that is too long.
        if error.errno != errno.ENAMETOOLONG:
            log.warning("`%s` cannot be searched (%s)", path.parent, error.strerror)
        return False
    return True


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []
