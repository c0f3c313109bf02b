"""Names are unique within a package, so that in its room a name alone says what is meant."""

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRODUCT = ("turnetl", "flows")
PROJECT = (*PRODUCT, "tests", "benchmarks", "examples")


def classes(module: ast.Module) -> Iterator[str]:
    """Yield the names of a module's classes, private ones included."""
    yield from (node.name for node in module.body if isinstance(node, ast.ClassDef))


def type_aliases(module: ast.Module) -> Iterator[str]:
    """Yield the names of a module's type aliases and `NewType`s, private ones included."""
    for node in module.body:
        if isinstance(node, ast.Assign) and not _is_type_variable(node.value):
            names = (target.id for target in node.targets if isinstance(target, ast.Name))
            yield from filter(_is_camel_case, names)


@pytest.mark.full
@pytest.mark.parametrize(
    ("names_in", "packages"),
    [(classes, PROJECT), (type_aliases, PRODUCT)],
    ids=["classes", "type_aliases"],
)
def test_no_name_is_defined_twice_in_a_package(
    names_in: Callable[[ast.Module], Iterator[str]], packages: Sequence[str]
) -> None:
    files: dict[str, list[str]] = defaultdict(list)
    for package in packages:
        for path in sorted((ROOT / package).rglob("*.py")):
            for name in names_in(ast.parse(path.read_text(encoding="utf-8"))):
                place = path.relative_to(ROOT)
                room = "/".join(place.parts[:2] if package in PRODUCT else place.parts[:1])
                files[f"{name} of {room}"].append(str(place))
    assert len(files) > 30
    assert not [
        f"{name} is defined in {', '.join(paths)}: rename all but one"
        for name, paths in sorted(files.items())
        if len(paths) > 1
    ]


def test_type_aliases_are_found_and_constants_and_type_variables_are_not() -> None:
    source = "Clock = Callable\n_Id = NewType('_Id', str)\nT_co = TypeVar('T_co')\nMAX = 1\nlog = 2"
    assert [*type_aliases(ast.parse(source))] == ["Clock", "_Id"]


def _is_type_variable(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and ast.unparse(value.func) == "TypeVar"


def _is_camel_case(name: str) -> bool:
    bare = name.lstrip("_")
    return bare[:1].isupper() and not bare.isupper()
