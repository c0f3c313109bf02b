"""Responses of models in a lake, for all machines that use it: `journal/<start>/<key>`."""

from collections.abc import Callable
from pathlib import Path

from turnetl.base.private_files import read_whole
from turnetl.lake.files import LakeFiles
from turnetl.lake.parallel import in_parallel

FOLDER = "journal"
"""Name of the folder in the lake."""
_START = 2
"""Characters of a key that name its folder."""


class ResponseFiles:
    """The responses in a lake; see `turnetl.llm.journal.journaled_model.SharedResponses`."""

    def __init__(self, files: LakeFiles) -> None:
        self._files = files
        self._folder = files.root / FOLDER

    def read(self, key: str) -> bytes | None:
        path = self._path(key)
        self._files.fetch([path])
        try:
            return read_whole(path)
        except FileNotFoundError:
            return None

    def write(self, key: str, content: bytes) -> None:
        try:
            self._files.create(self._path(key), content)
        except FileExistsError:
            return

    def erase(self, is_erased: Callable[[bytes], bool]) -> int:
        tree = self._files.tree(self._folder)
        paths = [self._folder / start / name for start, names in tree.items() for name in names]
        self._files.fetch(paths)
        erased = [path for path in paths if path.exists() and is_erased(read_whole(path))]
        in_parallel(self._files.delete, erased, self._files.parallel_writes)
        return len(erased)

    def _path(self, key: str) -> Path:
        return self._folder / key[:_START] / key
