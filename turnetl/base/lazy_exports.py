"""Names that a package offers from its modules, each module imported at the first use of a name."""

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any


def lazy_exports(package: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package that offers what its `if TYPE_CHECKING:` imports.

    No exported name is that of a module of the package. `__all__` are these names, unless the
    package has a list of its own.
    """

    @cache
    def modules() -> dict[str, str]:
        return _type_checking_imports(sys.modules[package].__loader__.get_source(package))  # type: ignore[union-attr]

    def get(name: str) -> Any:
        if name == "__all__":
            return sorted(modules())
        if name not in modules():
            raise AttributeError(f"module `{package}` has no attribute `{name}`")
        module = import_module(modules()[name])
        is_module = not hasattr(module, name)
        return import_module(f"{module.__name__}.{name}") if is_module else getattr(module, name)

    return get


def _type_checking_imports(source: str) -> dict[str, str]:
    """Return the module of each name that a source imports for a type checker only."""
    import ast  # noqa: PLC0415 - `import turnetl` does without it

    blocks = (node.body for node in ast.parse(source).body if isinstance(node, ast.If))
    imports = (one for block in blocks for one in block if isinstance(one, ast.ImportFrom))
    return {alias.name: one.module or "" for one in imports for alias in one.names}
