"""Templates that a person may edit, by name: the project's, the person's, the built-in."""

import errno
import logging
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from turnetl.errors import BadUsage
from turnetl.extraction import preprocessor
from turnetl.extraction.config import TEMPLATE_ENDING
from turnetl.extraction.preprocessor import Preprocessor

log = logging.getLogger(__name__)

PLACE = Path(".graphiti") / "templates"
LARGEST = 64 * 1024
"""Bytes. A longer template would be paid for in every call."""

SAYS_NOTHING = "tells the model nothing, and leaves nothing out"
"""What is wrong with front matter alone."""

_SHOWN = 80
"""Characters of a name that are told."""
_PACKAGE = Path(__file__).resolve().parent.parent


class NoTemplate(BadUsage):
    """There is no such template, or nothing to read in it."""


class TemplateResolver:
    """Finds templates in folders; the first that holds one of the name wins, usable or not.

    A file that cannot be used hides those below it all the same: who edits it is told what is wrong
    with it, and is not given other instructions unawares.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = tuple(folders)

    def find(self, name: str) -> Path | None:
        """Return what wins, a file or not, or None. `name` is a bare file name."""
        return next(iter(self.found(name)), None)

    def found(self, name: str) -> tuple[Path, ...]:
        """Return all that bears that name, files or not, what wins first."""
        if Path(name).name != name or "\0" in name:
            return ()
        return tuple(path for f in dict.fromkeys(self.folders) if _is_there(path := f / name))

    def names(self, ending: str) -> list[str]:
        """Return all names that end so, sorted, each once."""
        return sorted({path.name for f in self.folders for path in _in(f) if path.suffix == ending})

    def beside(self, folder: str) -> "TemplateResolver":
        """Return what finds files in the folders of that name within these."""
        return TemplateResolver([f / folder for f in self.folders])

    def load(self, name: str) -> str | None:
        """Return what the template tells the model; None and errors as `preprocessor`.

        None too if it only leaves something out.
        """
        found = self.preprocessor(name)
        return found.prompt or None if found is not None else None

    def preprocessor(self, name: str) -> Preprocessor | None:
        """Return all that the template says; None, with a warning, where `read` finds none.

        Raises:
            BadUsage: it has front matter that cannot be used.
        """
        try:
            return self.read(name)
        except NoTemplate as none:
            log.warning("%s: no preprocessing", none)
            return None

    def read(self, name: str) -> Preprocessor:
        """Return all that the template says, without the blank lines around it.

        Raises:
            NoTemplate: there is none of that name, or the one that wins is no file, empty, longer
                than `LARGEST`, not text, or front matter that says nothing; says which.
            BadUsage: it has front matter that cannot be used.
        """
        path = self.find(name)
        if path is None:
            raise NoTemplate(self._missing(name))
        text, wrong = text_of(path)
        if text is None:
            raise NoTemplate(f"template `{path}` {wrong}")
        found = preprocessor.read(text, path)
        if not (found.prompt or found.noise_patterns):
            raise NoTemplate(f"template `{path}` {SAYS_NOTHING}")
        return found

    @property
    def places(self) -> str:
        """The folders, for a sentence."""
        return ", ".join(f"`{folder}`" for folder in self.folders)

    def _missing(self, name: str) -> str:
        said = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}..."
        return f"no template `{said}` in {self.places}{self._hint(name)}"

    def _hint(self, name: str) -> str:
        if any(sign.isspace() for sign in name):
            return "; instructions that end in `.md` are taken for a template's name"
        if Path(name).name != name:
            return "; templates are named without folders"
        close = get_close_matches(name, self.names(TEMPLATE_ENDING), n=1)
        return f"; `{close[0]}` is there" if close else ""


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


def text_of(path: Path) -> tuple[str | None, str | None]:
    """Return the text of a file, or what is wrong with it. Reads no more than `LARGEST`.

    Without a mark of its byte order and with plain line ends, whatever wrote it: the same words are
    the same digest.
    """
    try:
        # A pipe would be waited for.
        if not path.is_file():
            return None, "is no file"
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            return None, f"has {path.stat().st_size:,} bytes, more than {LARGEST:,}"
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        return None, f"cannot be read ({error.strerror})"
    except UnicodeDecodeError:
        return None, "is not UTF-8 text"
    if not text.strip():
        return None, "is empty"
    return (None, "is not text") if "\0" in text else (text, None)


def _is_there(path: Path) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        # Not a name's length: instructions that end as a template's name does may be long.
        if error.errno != errno.ENAMETOOLONG:
            log.warning("`%s` cannot be looked into (%s)", path.parent, error.strerror)
        return False
    return True


def _in(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []
