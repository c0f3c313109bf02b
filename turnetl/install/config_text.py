"""Entries of a configuration file: text in, changed text out. Nothing else in it changes.

JSON may have comments and commas after the last value. Comments, order, indentation and line ends
stay, because an entry is written into the text, and cut out of it. TOML gets one table at its end,
and a change of it is checked: the changed text must have the same values as before, and the entry.
"""

import json
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

Path = tuple[str, ...]
"""Keys from the root to a value."""
_MAX_DEPTH = 100
_UNIT = "  "
_EMPTY = "{}"


class ConfigFormat(StrEnum):
    JSON = "json"
    TOML = "toml"


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """A value that belongs to turnetl: a member of an object, or an element of an array."""

    path: Path
    """To the object or the array, which is created if it is missing."""
    key: str | None
    """None: an element of the array."""
    value: Any
    is_own: Callable[[Any], bool]
    """Whether a value in its place is one of turnetl, maybe of another version or edited since."""
    inner: str = ""
    """Of an element: its array whose elements `is_own` judges; others in it stay."""

    @property
    def name(self) -> str:
        return ".".join((*self.path, self.key) if self.key is not None else self.path)


class BadConfig(Exception):
    """Why a configuration is not changed, as the end of a sentence that begins with its path."""


def read_config(text: str, kind: ConfigFormat) -> dict[str, Any]:
    """Return the values of a configuration; those of an empty one are none.

    Raises:
        BadConfig: it is not valid; the message names the line.
    """
    if kind is ConfigFormat.TOML:
        return _read_toml(text)
    return _values(_parse(text)) if text.strip("\ufeff \t\r\n") else {}


def with_entries(text: str, entries: Sequence[ConfigEntry], kind: ConfigFormat) -> str:
    """Return the text with each entry once; unchanged if it has all of them.

    Raises:
        BadConfig: it is not valid, or something else is where an entry belongs.
    """
    for entry in entries:
        found = own_values(read_config(text, kind), entry)
        added = _with_keys_of_user(entry, found)
        if found == _own_parts(added, added.value):
            continue
        if found:
            text = without_entries(text, [added], kind, keep=_containers(added))
        add = _toml_with if kind is ConfigFormat.TOML else _json_with
        text = add(text, added)
    return text


def _with_keys_of_user(entry: ConfigEntry, found: Sequence[Any]) -> ConfigEntry:
    """Return an entry with what else somebody wrote into the one that is there."""
    if entry.key is None or not found or not isinstance(found[0], dict):
        return entry
    return replace(entry, value={**found[0], **entry.value})


def without_entries(
    text: str,
    entries: Sequence[ConfigEntry],
    kind: ConfigFormat,
    *,
    keep: Collection[Path] = (),
) -> str:
    """Return the text without what is turnetl's in the places of the entries.

    Containers that are empty then go too, but for those to `keep`.

    Raises:
        BadConfig: it is not valid, or an entry is written in a way that cannot be cut out.
    """
    remove = _toml_without if kind is ConfigFormat.TOML else _json_without
    for entry in entries:
        while own_values(read_config(text, kind), entry):
            text = remove(text, entry, keep)
    return text


def containers(values: Mapping[str, Any]) -> frozenset[Path]:
    """Return the paths of all objects and arrays that a configuration has."""
    return frozenset(_walk(values, ()))


def _walk(value: Any, path: Path) -> Iterator[Path]:
    if isinstance(value, dict | list):
        yield path
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _walk(one, (*path, key))


def _containers(entry: ConfigEntry) -> frozenset[Path]:
    return frozenset(entry.path[:length] for length in range(len(entry.path) + 1))


def own_values(values: Any, entry: ConfigEntry) -> list[Any]:
    """Return what a configuration has of turnetl in the place of an entry.

    Raises:
        BadConfig: something else is there.
    """
    for length, key in enumerate(entry.path, 1):
        if not isinstance(values, dict):
            raise _not_a("object", entry.path[: length - 1])
        if key not in values:
            return []
        values = values[key]
    if entry.key is None:
        if not isinstance(values, list):
            raise _not_a("array", entry.path)
        return [part for one in values for part in _own_parts(entry, one)]
    if not isinstance(values, dict):
        raise _not_a("object", entry.path)
    if entry.key not in values:
        return []
    if not entry.is_own(values[entry.key]):
        raise BadConfig(
            f"has another entry `{entry.name}`, which is not of `turnetl install`: remove or "
            "rename it"
        )
    return [values[entry.key]]


def _own_parts(entry: ConfigEntry, element: Any) -> list[Any]:
    if not entry.inner:
        return [element] if entry.is_own(element) else []
    parts = element.get(entry.inner) if isinstance(element, dict) else None
    return [one for one in parts if entry.is_own(one)] if isinstance(parts, list) else []


def _not_a(kind: str, path: Path) -> BadConfig:
    return BadConfig(f"has no {kind} in `{'.'.join(path) or 'the root'}`: correct it first")


@dataclass(slots=True)
class _Node:
    start: int
    end: int = 0
    """After the last character."""
    scalar: Any = None
    members: list["_Member"] | None = None
    """None: a scalar."""
    is_array: bool = False


@dataclass(slots=True)
class _Member:
    start: int
    """Of the key, or of the element."""
    key: str
    node: _Node
    comma: int | None = None
    """Place of the comma after it."""


_TOKEN = re.compile(
    r"(?P<space>[ \t\r\n]+)|(?P<comment>//[^\r\n]*|/\*.*?\*/)"
    r'|(?P<string>"(?:[^"\\\x00-\x1f]|\\[^\x00-\x1f])*")|(?P<mark>[{}\[\],:])'
    r'|(?P<word>[^\s{}\[\],:"/]+)',
    re.DOTALL,
)
_COMMENTS = re.compile(r"(?:[ \t]*/\*[^\n]*?\*/)*(?:[ \t]*//[^\r\n]*)?")


@dataclass(slots=True)
class _Reader:
    text: str
    place: int = 0
    line_comments: set[int] = field(default_factory=set)
    """Where comments end that last to the end of the line."""
    depth: int = 0

    def peek(self) -> str:
        """Return the next character that is neither space nor comment; "" at the end."""
        while (token := _TOKEN.match(self.text, self.place)) and token.lastgroup in _SKIPPED:
            if token[0].startswith("//"):
                self.line_comments.add(token.end())
            self.place = token.end()
        return self.text[self.place : self.place + 1]

    def node(self) -> _Node:
        mark = self.peek()
        if mark in ("{", "["):
            return self._container(mark == "[")
        token = _TOKEN.match(self.text, self.place)
        if token is None or token.lastgroup not in ("string", "word"):
            raise self.error()
        return _Node(token.start(), token.end(), self._scalar(token))

    def _container(self, is_array: bool) -> _Node:
        members: list[_Member] = []
        node = _Node(self.place, members=members, is_array=is_array)
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise self.error()
        self.place += 1
        while self.peek() != ("]" if is_array else "}"):
            if members and members[-1].comma is None:
                raise self.error()
            members.append(self._member(is_array))
            if self.peek() == ",":
                members[-1].comma = self.place
                self.place += 1
        self.depth -= 1
        self.place += 1
        node.end = self.place
        return node

    def _member(self, is_array: bool) -> _Member:
        start, key = self.place, ""
        if not is_array:
            token = _TOKEN.match(self.text, self.place)
            if token is None or token.lastgroup != "string":
                raise self.error()
            key, self.place = self._scalar(token), token.end()
            if self.peek() != ":":
                raise self.error()
            self.place += 1
        return _Member(start, key, self.node())

    def _scalar(self, token: re.Match[str]) -> Any:
        try:
            value = json.loads(token[0])
        except ValueError:
            raise self.error() from None
        self.place = token.end()
        return value

    def error(self) -> BadConfig:
        line = self.text.count("\n", 0, self.place) + 1
        return BadConfig(f"is not valid JSON in line {line}: correct it first")


_SKIPPED = ("space", "comment")


def _parse(text: str) -> _Node:
    return _read(text)[0]


def _read(text: str) -> tuple[_Node, _Reader]:
    reader = _Reader(text, place=len(text) - len(text.removeprefix("\ufeff")))
    root = reader.node()
    if reader.peek():
        raise reader.error()
    if root.members is None or root.is_array:
        raise _not_a("object", ())
    return root, reader


def _values(node: _Node) -> Any:
    if node.members is None:
        return node.scalar
    if node.is_array:
        return [_values(member.node) for member in node.members]
    return {member.key: _values(member.node) for member in node.members}


def _json_with(text: str, entry: ConfigEntry) -> str:
    if not text.strip("\ufeff \t\r\n"):
        text += _EMPTY + "\n"
    root = _parse(text)
    known = len(entry.path)
    present = containers(_values(root))
    while entry.path[:known] not in present:
        known -= 1
    path, value = [*entry.path, *([] if entry.key is None else [entry.key])], entry.value
    if entry.key is None and known < len(path):
        value = [value]
    for name in reversed(path[known + 1 :]):
        value = {name: value}
    key = path[known] if known < len(path) else ""
    return _inserted(text, _at(root, entry.path[:known]), key, value, _unit(text, root))


def _unit(text: str, root: _Node) -> str:
    """Return how far the members of an object are indented."""
    if root.members:
        space = _space_before(text, root.members[0].start)
        if "\n" in space and (unit := space.rpartition("\n")[2]):
            return unit
    return _UNIT


def _space_before(text: str, place: int) -> str:
    return text[len(text[:place].rstrip(" \t\r\n")) : place]


def _inserted(text: str, node: _Node, key: str, value: Any, unit: str) -> str:
    """Return the text with one more last member of a container."""
    members = node.members or []
    newline = "\r\n" if "\r\n" in text else "\n"
    line = text[text.rfind("\n", 0, node.start) + 1 : node.start]
    base = line[: len(line) - len(line.lstrip(" \t"))]
    if not members:
        inner = text[node.start + 1 : node.end - 1]
        kept = inner.rstrip(" \t\r\n") if inner.strip(" \t\r\n") else ""
        added = _rendered(node, key, value, newline + base + unit, unit)
        return f"{text[: node.start + 1]}{kept}{added}{newline}{base}{text[node.end - 1 :]}"
    last, space = members[-1], _space_before(text, members[-1].start)
    after = last.node.end if last.comma is None else last.comma + 1
    comments = _COMMENTS.match(text, after)
    place = comments.end() if comments and comments[0].strip() else after
    if "\n" not in space and "//" in text[after:place]:
        space = newline + base + unit
    if "\n" in space:
        added = _rendered(node, key, value, newline + space.rpartition("\n")[2], unit)
    else:
        added = (space or " ") * (len(members) == 1 or bool(space)) + _named(
            node, key, json.dumps(value, ensure_ascii=False)
        )
    first, trailing = (",", "") if last.comma is None else ("", ",")
    return (
        f"{text[: last.node.end]}{first}{text[last.node.end : place]}{added}{trailing}"
        f"{text[place:]}"
    )


def _rendered(node: _Node, key: str, value: Any, line_start: str, unit: str) -> str:
    written = json.dumps(value, indent=unit, ensure_ascii=False)
    return line_start + _named(node, key, written.replace("\n", line_start))


def _named(node: _Node, key: str, written: str) -> str:
    return written if node.is_array else f"{json.dumps(key, ensure_ascii=False)}: {written}"


def _json_without(text: str, entry: ConfigEntry, keep: Collection[Path]) -> str:
    """Return the text without the first of turnetl's values in that place."""
    root, reader = _read(text)
    members = _at(root, entry.path).members or []
    number = next(
        number
        for number, one in enumerate(members)
        if one.key == (entry.key or "") and _own_parts(entry, _values(one.node))
    )
    if entry.inner:
        parts = _at(members[number].node, (entry.inner,)).members or []
        own = [place for place, one in enumerate(parts) if entry.is_own(_values(one.node))]
        if len(own) < len(parts):
            return _cut(text, parts, own[0], reader.line_comments)
    text = _cut(text, members, number, reader.line_comments)
    for length in range(len(entry.path), 0, -1):
        path = entry.path[:length]
        root, reader = _read(text)
        empty = _at(root, path)
        if path in keep or empty.members or text[empty.start + 1 : empty.end - 1].strip():
            break
        members = _at(root, path[:-1]).members or []
        text = _cut(text, members, _number(members, path[-1]), reader.line_comments)
    return text


def _at(node: _Node, path: Path) -> _Node:
    """Return the node that a path leads to; it must be there."""
    for key in path:
        members = node.members or []
        node = members[_number(members, key)].node
    return node


def _number(members: Sequence[_Member], key: str) -> int:
    """Return the place of the last member of that name, which is the one that counts."""
    return max(number for number, one in enumerate(members) if one.key == key)


def _cut(text: str, members: Sequence[_Member], number: int, line_comments: set[int]) -> str:
    """Return the text without a member, its comma and the space before it."""
    member = members[number]
    begin = len(text[: member.start].rstrip(" \t\r\n"))
    end = member.node.end if member.comma is None else member.comma + 1
    before, rest = text[:begin], text[end:]
    if begin in line_comments and not rest.lstrip(" \t").startswith(("\r", "\n")):
        rest = "\n" + rest
    if len(members) == 1 and before[-1:] in ("{", "[") and rest.lstrip()[:1] in ("}", "]"):
        return before + rest.lstrip()
    comma = members[number - 1].comma if number else None
    if member.comma is None and comma is not None:
        before = before[:comma] + before[comma + 1 :]
    return before + rest


def _read_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise BadConfig(f"is not valid TOML: {error}; correct it first") from None


def _toml_with(text: str, entry: ConfigEntry) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{'.'.join((*entry.path, entry.key or ''))}]"]
    lines += [f"{_toml_key(key)} = {_toml_value(value)}" for key, value in entry.value.items()]
    end = "" if not text or text.endswith("\n") else newline
    block = newline.join((*([""] if text.strip() else []), *lines, ""))
    return _checked(text + end + block, _with_value(_read_toml(text), entry), entry)


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)


def _toml_value(value: Any) -> str:
    if isinstance(value, dict):
        pairs = (f"{_toml_key(key)} = {_toml_value(one)}" for key, one in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    return json.dumps(value, ensure_ascii=False)


def _with_value(values: dict[str, Any], entry: ConfigEntry) -> dict[str, Any]:
    inner = values
    for key in entry.path:
        inner = inner.setdefault(key, {})
    inner[entry.key or ""] = entry.value
    return values


def _toml_without(text: str, entry: ConfigEntry, keep: Collection[Path]) -> str:
    expected = _read_toml(text)
    inner = expected
    for key in entry.path:
        inner = inner[key]
    del inner[entry.key or ""]
    name = r"[ \t]*\.[ \t]*".join(map(re.escape, (*entry.path, entry.key or "")))
    own = re.compile(rf"[ \t]*\[[ \t]*{name}[ \t]*(?:\.[^\]]*)?\]")
    kept: list[str] = []
    loose: list[str] = []
    is_own = False
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        if line.lstrip(" \t").startswith("["):
            was_own, is_own = is_own, own.match(line) is not None
            if is_own and not was_own and kept and not kept[-1].strip():
                kept.pop()
        if not is_own:
            kept += [*loose, line]
            loose = []
        elif not line.strip() or line.lstrip().startswith("#"):
            loose.append(line)
        else:
            loose = []
    if not inner and entry.path not in keep and len(entry.path) == 1:
        expected.pop(entry.path[0])
    return _checked("".join((*kept, *loose)), expected, entry)


def _checked(text: str, expected: dict[str, Any], entry: ConfigEntry) -> str:
    """Return a changed text if it has the expected values, with or without an empty table."""
    try:
        found = _read_toml(text)
    except BadConfig:
        found = {}
    name = entry.path[0]
    if {name: {}, **found} == {name: {}, **expected}:
        return text
    raise BadConfig(
        f"writes `{entry.name}` in a way that is not changed automatically: edit it by hand"
    )
