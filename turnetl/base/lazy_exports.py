"""Names that a package offers from its modules, each module imported at the first use of a name."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_exports(package: str, modules: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package; no exported name is that of one of its modules."""
    module_of = {name: module for module, names in modules.items() for name in names}

    def get(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module `{package}` has no attribute `{name}`")
        return getattr(import_module(module_of[name]), name)

    return get
