"""Templates that a person may edit, by name: the project's, the person's, the built-in."""

import logging
from collections.abc import Sequence
from pathlib import Path

from turnetl.extraction import preprocessor
from turnetl.extraction.preprocessor import Preprocessor

log = logging.getLogger(__name__)

PLACE = Path(".graphiti") / "templates"
LARGEST = 64 * 1024
"""Bytes. A longer template would be paid for in every call."""

_PACKAGE = Path(__file__).resolve().parent.parent


class TemplateResolver:
    """Finds templates in folders; the first that holds one of the name wins."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = tuple(folders)

    def find(self, name: str) -> Path | None:
        """Return the file that wins, or None. `name` is a bare file name."""
        if Path(name).name != name:
            return None
        return next((f / name for f in self.folders if (f / name).is_file()), None)

    def load(self, name: str) -> str | None:
        """Return the template's instructions without the blank lines around them.

        None, with a warning that says why, if there is none of that name or the one that wins is
        empty, longer than `LARGEST`, or not text: extraction then goes on without instructions.

        Raises:
            BadUsage: it has front matter that cannot be used.
        """
        found = self.preprocessor(name)
        return found.prompt or None if found is not None else None

    def preprocessor(self, name: str) -> Preprocessor | None:
        """Return all that the template says; None, and errors, as `load`."""
        path = self.find(name)
        if path is None:
            places = ", ".join(f"`{folder}`" for folder in self.folders)
            log.warning("no template `%s` in %s: no preprocessing", name, places)
            return None
        text, wrong = _read(path)
        if wrong:
            log.warning("template `%s` %s: no preprocessing", path, wrong)
        return preprocessor.read(text, path) if text is not None else None


def folders(project: Path, home: Path) -> tuple[Path, ...]:
    """Return where templates are looked for, in order.

    Args:
        project: the working directory of the run.
        home: the person's home directory.
    """
    return (project / PLACE, home / PLACE, built_in())


def built_in(package: Path = _PACKAGE) -> Path:
    """Return the folder of the built-in templates of the `turnetl` in that folder.

    A wheel has them inside the package, a checkout beside it. What stands beside an installed
    package is somebody else's, whatever it is called.
    """
    inside = package / "_templates"
    return inside if inside.is_dir() else package.parent / "templates"


def _read(path: Path) -> tuple[str | None, str | None]:
    """Return the text, or what is wrong with the file."""
    try:
        data = path.read_bytes()
        text = data.decode("utf-8")
    except OSError as error:
        return None, f"cannot be read ({error.strerror})"
    except UnicodeDecodeError:
        return None, "is not UTF-8 text"
    if not text.strip():
        return None, "is empty"
    if len(data) > LARGEST:
        return None, f"has {len(data):,} bytes, more than {LARGEST:,}"
    if "\0" in text:
        return None, "is not text"
    return text, None
