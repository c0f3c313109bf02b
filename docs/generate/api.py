"""The reference of the Python API, docs/api.md."""

import ast
import dataclasses
import inspect
import re
import textwrap
from collections.abc import Iterator
from enum import Enum
from functools import cache
from itertools import pairwise
from typing import Any, get_args, get_type_hints

import msgspec

import turnetl
from turnetl.api.arguments import Conditions
from turnetl.base import errors
from turnetl.base.graph_model import Receipt, TurnRun
from turnetl.base.results import Description
from turnetl.base.schema import RECEIPTS, RUNS

_HEAD = """# Reference of the Python API

Every public function, type and error, as its docstring describes it; [Python API](python-api.md)
says how to work with them. `Progress` is `Callable[[ProgressUpdate], None]`. Where a
meaning says null, the value in Python is None.

This page is generated: `make docs`.
"""
_INNER_TYPES = (
    "## Types of fields and arguments\n\nYou need not import them: `turnetl` has no such names.\n"
)
_ERRORS = "## Errors\n\n| name | is a | means |\n|---|---|---|\n"
_FIELDS = "| name | type | meaning |\n|---|---|---|\n"
_FIELD_SECTIONS = ("Args", "Raises")


def reference() -> str:
    """Return the page: a section for each function and type, and the table of errors."""
    public = {name: getattr(turnetl, name) for name in sorted(turnetl.__all__, key=str.lower)}
    functions = [value for value in public.values() if inspect.isfunction(value)]
    types = [value for value in public.values() if isinstance(value, type)]
    documented = [kind for kind in types if not issubclass(kind, errors.TurnetlError)]
    inside = [kind for kind in types_inside(*documented, Conditions) if kind not in documented]
    return "\n".join(
        (
            _HEAD,
            "## Functions\n",
            *map(_function, functions),
            "## Types\n",
            *map(_type, documented),
            _INNER_TYPES,
            *map(_type, sorted(inside, key=lambda kind: kind.__name__.lower())),
            _ERRORS + "".join(map(_error, _error_types())),
        )
    )


def types_inside(*kinds: Any) -> list[type]:
    """Return the types of turnetl among these, and those that their fields name, at any depth."""
    found: list[type] = []
    waiting = list(kinds)
    while waiting:
        kind = waiting.pop()
        is_own = isinstance(kind, type) and kind.__module__.startswith("turnetl")
        if not is_own:
            waiting += get_args(kind)
        elif kind not in found and members(kind):
            found.append(kind)
            waiting += get_type_hints(kind).values()
    return found


def members(kind: type) -> list[str]:
    """Return the public fields and properties of a type, in their order."""
    names: list[str] = []
    if kind is turnetl.Settings:
        return names  # docs/configuration.md has them
    if dataclasses.is_dataclass(kind):
        names += (field.name for field in dataclasses.fields(kind))
    elif issubclass(kind, msgspec.Struct):
        names += (field.name for field in msgspec.structs.fields(kind))
    elif kind is Conditions:
        names += get_type_hints(kind)
    for base in _own_bases(kind):
        names += (name for name, value in vars(base).items() if isinstance(value, property))
    return [name for name in dict.fromkeys(names) if not name.startswith("_")]


def _function(function: Any) -> str:
    parameters = inspect.signature(function).parameters.values()
    by_position = [one for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    by_keyword = [one for one in parameters if one not in by_position]
    lines = [f"    {_parameter(one)},\n" for one in by_position]
    lines += ["    *,\n"] * any(one.kind is one.KEYWORD_ONLY for one in by_keyword)
    lines += [f"    {_parameter(one)},\n" for one in by_keyword]
    prefix = "async def" if inspect.iscoroutinefunction(function) else "def"
    returned = _type_name(inspect.signature(function).return_annotation)
    signature = f"{prefix} {function.__name__}(\n{''.join(lines)}) -> {returned}"
    return f"### {function.__name__}\n\n```python\n{signature}\n```\n\n{_documentation(function)}\n"


def _parameter(parameter: inspect.Parameter) -> str:
    stars = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
    text = f"{stars}{parameter.name}: {_type_name(parameter.annotation)}"
    if parameter.default is parameter.empty:
        return text
    default = getattr(parameter.default, "__name__", None) or repr(parameter.default)
    return f"{text} = {default}"


def _type(kind: type) -> str:
    """Return the section of a type; an enum has its values instead of fields."""
    rows = "".join(_field(kind, name) for name in members(kind))
    values = [f"`{one.value}`" for one in kind] if issubclass(kind, Enum) else []
    listed = f"\nValues: {', '.join(values)}.\n" if values else ""
    table = f"\n{_FIELDS}{rows}" if rows else ""
    return f"### {kind.__name__}\n\n{_documentation(kind)}\n{listed}{table}"


def _field(kind: type, name: str) -> str:
    """Return the row of a field or property, with the description that `--json` has, if any."""
    value = vars(kind).get(name) or getattr(kind, name, None)
    if isinstance(value, property):
        owner, key, docstring = value.fget, "return", inspect.getdoc(value) or ""
    else:
        owner, key, docstring = kind, name, _field_docstrings(kind).get(name, "")
    metadata = getattr(get_type_hints(owner, include_extras=True)[key], "__metadata__", ())
    texts = [one.text for one in metadata if isinstance(one, Description)]
    texts += [docstring.partition("\n\n")[0].replace("\n", " ")]
    hint = get_type_hints(owner)[key]
    meaning = " ".join(dict.fromkeys(text for text in texts if text)) or _described(
        kind, name, hint
    )
    return f"| `{name}` | `{_escaped(_type_name(hint))}` | {_escaped(meaning)} |\n"


def _described(kind: type, name: str, hint: Any) -> str:
    """Return what the column of that name says, or the docstring of the field's own type."""
    columns = {Receipt: RECEIPTS.columns, TurnRun: RUNS.columns}.get(kind, ())
    for column in columns:
        if column.name == name:
            return column.description
    is_own = isinstance(hint, type) and hint.__module__.startswith("turnetl.")
    return _documentation(hint).partition("\n")[0] if is_own else ""


@cache
def _field_docstrings(kind: type) -> dict[str, str]:
    """Return the texts that stand below the fields of a class and of those that it inherits."""
    found: dict[str, str] = {}
    for base in _own_bases(kind):
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        body = tree.body if isinstance(tree, ast.ClassDef) else []
        for field, below in pairwise(body):
            match field, below:
                case (
                    ast.AnnAssign(target=ast.Name(name)),
                    ast.Expr(ast.Constant(str(text))),
                ):
                    found[name] = inspect.cleandoc(text)
    return found


def _own_bases(kind: type) -> list[type]:
    return [one for one in reversed(kind.__mro__) if one.__module__.startswith("turnetl.")]


def _documentation(value: Any) -> str:
    """Return a docstring as Markdown: its arguments and errors as lists."""
    docstring = inspect.getdoc(value) or ""
    if docstring.startswith(f"{getattr(value, '__name__', '')}("):
        return ""  # `dataclass` wrote it, of the fields
    return "\n\n".join(_paragraphs(docstring))


def _paragraphs(docstring: str) -> Iterator[str]:
    for paragraph in docstring.split("\n\n"):
        heading, _, body = paragraph.partition(":\n")
        if heading in _FIELD_SECTIONS:
            entries = re.split(r"\n(?=\S)", textwrap.dedent(body))
            yield f"**{heading}:**\n\n" + "\n".join(map(_entry, entries))
        elif heading == "Returns":
            yield f"**{heading}:** {textwrap.dedent(body)}"
        else:
            yield paragraph


def _entry(entry: str) -> str:
    names, _, text = " ".join(entry.split()).partition(": ")
    return f"- {', '.join(f'`{name}`' for name in names.split(', '))}: {text}"


def _error_types() -> list[type[errors.TurnetlError]]:
    values = vars(errors).values()
    return [
        value
        for value in values
        if isinstance(value, type) and issubclass(value, errors.TurnetlError)
    ]


def _error(kind: type[errors.TurnetlError]) -> str:
    """Return the row of an error, by the name under which it is imported."""
    parent = kind.__mro__[1]
    means = (inspect.getdoc(kind) or "").partition("\n\n")[0].replace("\n", " ")
    return f"| `{_public_name(kind)}` | `{_public_name(parent)}` | {means} |\n"


def _public_name(kind: type) -> str:
    is_inner = kind.__module__ == errors.__name__ and kind.__name__ not in turnetl.__all__
    return f"errors.{kind.__name__}" if is_inner else kind.__name__


def _type_name(annotation: Any) -> str:
    """Return a type as one would write it, without the modules of its names."""
    text = inspect.formatannotation(annotation).replace("NoneType", "None")
    short = re.sub(r"\b(?:\w+\.)+(\w)", r"\1", re.sub(r"<class '(.*?)'>", r"\1", text))
    short = re.sub(r"Optional\[(\w+)\]", r"\1 | None", short)
    short = short.replace("Callable[[ProgressUpdate], None]", "Progress")
    return short.replace("*Conditions", "Unpack[Conditions]").lstrip("~")


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
