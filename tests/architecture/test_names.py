"""Class names are unique over the whole project, so that a name alone says which class is meant."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_no_module_level_class_name_is_defined_twice() -> None:
    duplicates = _duplicates()
    assert not duplicates, "\n".join(
        f"class {name} is defined in {', '.join(files)}: rename all but one"
        for name, files in sorted(duplicates.items())
    )


def _duplicates() -> dict[str, list[str]]:
    files: dict[str, list[str]] = defaultdict(list)
    for package in ("turnetl", "flows"):
        for path in sorted((ROOT / package).rglob("*.py")):
            for name in _module_level_classes(path):
                files[name].append(str(path.relative_to(ROOT)))
    return {name: paths for name, paths in files.items() if len(paths) > 1}


def _module_level_classes(path: Path) -> list[str]:
    """Return the names of a module's classes, private ones included."""
    statements = ast.parse(path.read_text(encoding="utf-8")).body
    return [node.name for node in statements if isinstance(node, ast.ClassDef)]
