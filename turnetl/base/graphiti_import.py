"""How Graphiti is imported: without telemetry, and without the `.env` file that it would load.

It loads the first one above its own folder or the working directory into the environment of the
process. Its author may be somebody else: the file could name a proxy or an endpoint.
"""

import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType

_NAME = "graphiti_core"
_NO_DOTENV = "PYTHON_DOTENV_DISABLED"
_TELEMETRY = "GRAPHITI_TELEMETRY_ENABLED"


def prepare() -> None:
    """Decide how Graphiti is imported in this process. A value set by the user wins."""
    os.environ.setdefault(_TELEMETRY, "false")  # noqa: TID251 - read there only
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _NAME:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(fullname, spec.origin)
        return spec


class _Loader(SourceFileLoader):
    """Imports Graphiti, which then loads no `.env` file; the program may still load its own."""

    def exec_module(self, module: ModuleType) -> None:
        environment = os.environ  # noqa: TID251 - read by python-dotenv only
        before = environment.get(_NO_DOTENV)
        environment[_NO_DOTENV] = "1"
        try:
            super().exec_module(module)
        finally:
            if before is None:
                del environment[_NO_DOTENV]
            else:
                environment[_NO_DOTENV] = before
