"""Tantivy's files in a folder that may not be written: it needs to create its locks beside them."""

from pathlib import Path
from tempfile import TemporaryDirectory

from turnetl.index.files import delete_folder

_LOCKS = ".tantivy-*.lock"


class LinkedWords:
    """A temporary folder with links to the files of the words."""

    def __init__(self, folder: Path) -> None:
        self._source = folder
        self._temporary = TemporaryDirectory(prefix="turnetl-words-")
        self.folder = Path(self._temporary.name)
        self.refresh()

    def refresh(self) -> None:
        """Link the files that were added since."""
        for path in self._source.glob("*/*"):
            link = self.folder / path.parent.name / path.name
            if not path.match(_LOCKS) and not link.is_symlink():
                link.parent.mkdir(exist_ok=True)
                link.symlink_to(path.absolute())

    def close(self) -> None:
        """Delete the folder. Safe to repeat."""
        if self.folder.exists():
            delete_folder(self.folder)
        self._temporary.cleanup()
