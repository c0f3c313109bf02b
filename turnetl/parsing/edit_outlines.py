"""What each edit changed, by definition: only an archive has the whole texts before and after it.

The definition that encloses a changed line may stand above the edit: it is looked up in what the
session read or wrote of the file before.
"""

import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from turnetl.base import edit_outline
from turnetl.base.edit_outline import (
    ADDED,
    BECOMES,
    CHANGED,
    DELETED,
    IMPORTED,
    RENAMED,
    EditedPart,
)
from turnetl.formats.kit.tool_input import EditedText, called_path, edited_texts
from turnetl.formats.port import RawTurn
from turnetl.parsing.definitions import (
    Definition,
    Language,
    indentation,
    is_comment,
    language,
    owners,
    parents,
)

_MAX_CHARS, _MAX_LINES = 200_000, 4000
"""A longer text is not read."""
_KNOWN = 8
"""Texts of a file that are remembered, and results of commands: the last ones."""
_MAX_CHANGES = 12
_VALUE, _DOC, _NAME = 140, 180, 80
"""Characters of a changed line, of what a definition says about itself, and of a name."""
_MIN_ANCHOR = 6
_LONGEST_LINE = 400
_SIMILAR = 0.6
"""Share of lines that a renamed definition keeps."""
_LINE_NUMBER = re.compile(r"^ {0,6}\d{1,6}[→\t:|] ?", re.MULTILINE)
_OVERWRITTEN = re.compile(r"\b(?:updated|overwr\w+|modified)\b")
_CALL = re.compile(r"(?<![\w.])([A-Za-z_]\w{2,40}(?:\.[A-Za-z_]\w{1,40}){0,2})\(")
_NO_CALLS = frozenset(
    {"for", "while", "switch", "return", "catch", "func", "function", "def", "class", "elif"}
    | {"print", "println", "len", "str", "int", "append", "range", "super", "isinstance", "and"}
    | {"not", "assert", "string", "make", "list", "dict", "set", "tuple", "bool", "require", "if"}
    | {"console.log", "fmt.Println", "fmt.Printf", "fmt.Sprintf", "Some", "Err", "await"}
    | {"fmt.Fprintf", "fmt.Errorf", "errors.New", "errors.Is", "errors.As", "context.Background"}
    | {"slog.String", "filepath.Join", "path.join", "os.path.join", "JSON.stringify", "String"}
)
"""Keywords, and calls that say nothing about a change."""
_MAX_CALLS = 3
_DOCSTRING = re.compile(r"^[ \t]*[rb]?(?:\"\"\"|''')(.*)$")
_COMMENT_MARK = re.compile(
    r"^[ \t]*(?://[/!]?|#+|/\*+|\*(?!\*)|--|;+|\"\"\"|''')[ \t]*|[ \t]*(?:\*/|-->)$"
)
_COMMENT_WORDS, _TOLD_WORDS = 3, 5
"""Words of what a definition says about itself, and of a comment that tells why it changed."""
_IMPORTS = {
    "py": re.compile(r"^(?:from ([A-Za-z]\w*)[\w.]* import |import ([A-Za-z]\w*))"),
    "js": re.compile(
        r"""(?:import|export|const|let|\}).{0,300}?(?:from |require\(|import )"""
        r"""['"](@?[a-z][\w./-]*)['"]"""
    ),
    "go": re.compile(r"""^(?:import )?(?:[\w.]+ )?"([\w-]+\.[\w.-]+/[\w./-]+)"$"""),
    "rs": re.compile(r"^(?:pub )?use (?!crate\b|self\b|super\b|std\b|core\b|alloc\b)([a-z]\w*)::"),
}
_IMPORTS |= dict.fromkeys(("ts", "tsx", "jsx", "mjs", "mts", "vue", "svelte"), _IMPORTS["js"])


def add_outlines(turns: Iterable[RawTurn]) -> None:
    """Append to the input of each call that edited files what it changed, by definition."""
    known = _KnownTexts()
    for turn in turns:
        for call in turn.tool_calls:
            edits = edited_texts(call.arguments) if not call.is_error else []
            if edits:
                if call.original and len({edit.path for edit in edits}) == 1:
                    known.add(edits[0].path, call.original, is_whole=True)
                changes = _of_call(edits, known, call.result)
                call.input += edit_outline.outline_text(changes)
            elif call.arguments is not None and call.result:
                known.add(called_path(call.arguments), call.result)


def _of_call(edits: Sequence[EditedText], known: "_KnownTexts", result: str) -> list[EditedPart]:
    is_one = len({edit.path for edit in edits}) == 1
    found: dict[EditedPart, None] = {}
    for edit in edits:
        for change in islice(_changes(edit, known, result), _MAX_CHANGES):
            found.setdefault(change._replace(path="" if is_one else edit.path))
        known.add(edit.path, edit.after, is_whole=edit.operation == "Write")
    return list(found)[: 2 * _MAX_CHANGES]


@dataclass
class _KnownText:
    shown: str
    """As a tool printed it, perhaps with line numbers."""
    is_whole: bool

    @cached_property
    def text(self) -> str:
        # Few of all texts that are read are edited later.
        is_numbered = _LINE_NUMBER.match(self.shown)
        return _LINE_NUMBER.sub("", self.shown) if is_numbered else self.shown


@dataclass(slots=True)
class _KnownTexts:
    """What the session read or wrote of files, by path; results of commands are of any file."""

    by_path: dict[str, deque[_KnownText]] = field(default_factory=dict)

    def add(self, path: str, text: str, *, is_whole: bool = False) -> None:
        if _MIN_ANCHOR < len(text) <= _MAX_CHARS:
            texts = self.by_path.setdefault(path, deque(maxlen=_KNOWN))
            texts.append(_KnownText(text, is_whole))

    def surroundings(self, edit: EditedText) -> tuple[list[str], str, str]:
        """Return the lines above an edit, and what its first and its last line begin and end with.

        All are empty if the text of the edit is in nothing that is known.
        """
        anchor = next((x for x in edit.before.split("\n") if len(x.strip()) >= _MIN_ANCHOR), "")
        for sought in (edit.before, anchor) if anchor else ():
            for known in reversed([*self.by_path.get("", ()), *self.by_path.get(edit.path, ())]):
                place = known.text.find(sought)
                if place >= 0:
                    lines: list[str] = known.text[:place].split("\n")
                    end = place + len(sought)
                    rest = known.text[end : end + _LONGEST_LINE].partition("\n")[0]
                    return lines[:-1], lines[-1], rest if sought == edit.before else ""
        return [], "", ""

    def whole(self, path: str) -> str:
        """Return the last text that was written as the whole file, if nothing changed it since."""
        texts = self.by_path.get(path)
        return texts[-1].text if texts and texts[-1].is_whole else ""


class _Side:
    """A text before or after an edit, with its definitions."""

    def __init__(self, text: str, kind: Language, outside: Sequence[Definition]) -> None:
        self.lines = text.split("\n")
        self.found = list(kind.definitions(self.lines))
        self.owners = owners(self.lines, self.found, kind)
        self.kind = kind
        self._parents = parents(self.found)
        self._outside = outside

    @cached_property
    def names(self) -> dict[str, Definition]:
        names: dict[str, Definition] = {}
        for one in self.found:
            names.setdefault(self.name(one), one)
        return names

    def name(self, one: Definition) -> str:
        """Return the name; of a setting with what encloses it."""
        if not self.kind.is_settings:
            return one.name[:_NAME]
        parent = self._parents.get(one.line) or self._enclosing(one.indent)
        return f"{parent.name}.{one.name}"[:_NAME] if parent is not None else one.name[:_NAME]

    def _enclosing(self, indent: int) -> Definition | None:
        return next((one for one in self._outside if one.indent < indent), None)

    def owner(self, index: int) -> str:
        """Return the name of what a line is part of; empty: it is not known."""
        owner = self.owners[index]
        if owner is None:
            outside = self._enclosing(indentation(self.lines[index]))
            is_prose = self.kind.is_prose and self._outside
            return outside.name if outside else self._outside[0].name if is_prose else ""
        return self.name(owner)

    def is_in(self, index: int, names: Iterable[str]) -> bool:
        """Whether a line is part of one of these definitions, or of what one encloses."""
        owner = self.owners[index]
        while owner is not None:
            if self.name(owner) in names:
                return True
            owner = self._parents.get(owner.line)
        return False

    def outermost(self, names: Sequence[str]) -> list[str]:
        """Return those of the names that are not part of another one; of settings, no tables."""
        if self.kind.is_settings:
            lines = {
                self._parents[one.line].line for one in self.found if one.line in self._parents
            }
            return [name for name in names if self.names[name].line not in lines]
        kept = []
        for name in names:
            parent = self._parents.get(self.names[name].line)
            if parent is None or not self.is_in(parent.line, names):
                kept.append(name)
        return kept

    def body(self, name: str) -> set[str]:
        start = self.names[name]
        return {
            line.strip()
            for index, line in enumerate(self.lines)
            if index != start.line and self.is_in(index, (name,)) and line.strip()
        }

    def doc(self, name: str) -> str:
        """Return what a definition says about itself: its docstring, or the comment above it."""
        line = self.names[name].line
        if self.kind.is_prose:
            return _first_sentence(self.lines[line + 1 :])
        below = self.lines[line + 1 : line + 12]
        start = next((at for at, text in enumerate(below) if _DOCSTRING.match(text)), None)
        if start is not None and all(":" not in text[-1:] for text in below[:start]):
            return _first_sentence(_until_end(below[start:]))
        first = line
        while first > 0 and is_comment(self.lines[first - 1]):
            first -= 1
        return _first_sentence(self.lines[first:line])


_NO_SENTENCE = ("@", "[", "!", "<", ">", "(", "|", "-", "*", "=", "`", "#", "+")
"""What a line begins with that is no prose."""


def _until_end(lines: Sequence[str]) -> list[str]:
    """Return the lines of a docstring."""
    first, *rest = lines
    quote = first.strip().lstrip("rb")[:3]
    if first.count(quote) > 1:
        return [first.replace(quote, "")]
    inside = []
    for line in rest:
        if quote in line:
            break
        inside.append(line)
    return [first, *inside]


def _first_sentence(lines: Iterable[str]) -> str:
    """Return the first sentence of comments, without their marks; empty: there is no short one."""
    words: list[str] = []
    for line in lines:
        text = _COMMENT_MARK.sub("", line).strip()
        if not text and words:
            break
        if text and not text.startswith(_NO_SENTENCE):
            words += [text] if text not in words else []
        if text.endswith((".", "!", "?")):
            break
    text = " ".join(words)
    end = re.search(r"(?<!\d)[.!?](?=\s|$)", text)
    text = text[: end.start()] if end else text
    is_sentence = len(text.split()) >= _COMMENT_WORDS and len(text) <= _DOC
    return text.replace("`", "") if is_sentence else ""


def _changes(edit: EditedText, known: _KnownTexts, result: str) -> Iterator[EditedPart]:
    if edit.operation == "Delete":
        yield EditedPart(DELETED, "")
        return
    kind = language(edit.path)
    before = known.whole(edit.path) if edit.operation == "Write" else edit.before
    is_new = edit.operation == "Write" and not before
    if is_new:
        is_overwritten = bool(_OVERWRITTEN.search(result[:200]))
        yield EditedPart(CHANGED if is_overwritten else ADDED, "", _file_doc(edit.after, kind))
        if is_overwritten:
            return
    if kind is None or max(len(before), len(edit.after)) > _MAX_CHARS:
        return
    above, start, end = ([], "", "") if edit.operation == "Write" else known.surroundings(edit)
    outside = kind.above([edit.above] if edit.above else above)
    old, new = (_Side(f"{start}{text}{end}", kind, outside) for text in (before, edit.after))
    if max(len(old.lines), len(new.lines)) <= _MAX_LINES:
        yield from _of_definitions(old, new)
        yield from _imports(old, new, edit.path)


def _file_doc(text: str, kind: Language | None) -> str:
    lines = text[:4000].split("\n")
    if kind is not None and kind.is_prose:
        return next((name for line in lines if (name := kind.name(line))), "")[:_DOC]
    start = 1 if lines[0].startswith("#!") else 0
    first = next((at for at, line in enumerate(lines) if line.strip() and at >= start), 0)
    if _DOCSTRING.match(lines[first]):
        return _first_sentence(_until_end(lines[first:]))
    end = first
    while end < len(lines) and is_comment(lines[end]):
        end += 1
    return _first_sentence(lines[first:end])


def _of_definitions(old: _Side, new: _Side) -> Iterator[EditedPart]:
    added = new.outermost([name for name in new.names if name not in old.names])
    deleted = old.outermost([name for name in old.names if name not in new.names])
    others = new.names.keys() ^ old.names.keys()
    for was, now in _renamed(old, deleted, new, added):
        yield EditedPart(RENAMED, was, now)
        deleted.remove(was)
        added.remove(now)
    yield from (EditedPart(DELETED, name) for name in deleted)
    yield from (EditedPart(ADDED, name, _added_detail(new, name)) for name in added)
    yield from _changed(old, new, others)


def _added_detail(side: _Side, name: str) -> str:
    line = side.lines[side.names[name].line].strip()
    is_value = side.kind.is_settings or (not side.body(name) and "=" in line)
    if is_value:
        return f"{BECOMES}{line}" if len(line) <= _VALUE else ""
    return side.doc(name)


def _renamed(
    old: _Side, deleted: Sequence[str], new: _Side, added: Sequence[str]
) -> Iterator[tuple[str, str]]:
    if len(deleted) != 1 or len(added) != 1:
        return
    was, now = deleted[0], added[0]
    bodies = old.body(was), new.body(now)
    if any(bodies):
        is_same = len(bodies[0] & bodies[1]) >= _SIMILAR * max(map(len, bodies))
    else:
        lines = (side.lines[side.names[name].line] for side, name in ((old, was), (new, now)))
        first, second = (
            line.strip().replace(name.rpartition(".")[2], "", 1)
            for line, name in zip(lines, (was, now), strict=True)
        )
        is_same = first == second
    if is_same:
        yield was, now


def _changed(old: _Side, new: _Side, others: set[str]) -> Iterator[EditedPart]:
    """Yield the definitions with changed lines that are neither added nor deleted."""
    stripped = [{line.strip() for line in side.lines} for side in (old, new)]
    lines: dict[str, tuple[list[str], list[str]]] = {}
    for place, (side, there) in enumerate(((old, stripped[1]), (new, stripped[0]))):
        for index, line in enumerate(side.lines):
            text = line.strip()
            if text and text not in there and not side.is_in(index, others):
                lines.setdefault(side.owner(index), ([], []))[place].append(text)
    lines.pop("", None)
    for name, (removed, added) in sorted(
        lines.items(), key=lambda item: -len(item[1][0]) - len(item[1][1])
    ):
        if any(re.search(r"\w", line) for line in (*removed, *added)):
            yield EditedPart(CHANGED, name, _changed_detail(removed, added))


def _changed_detail(removed: Sequence[str], added: Sequence[str]) -> str:
    if len(removed) <= 1 and len(added) <= 1:
        was, now = "".join(removed), "".join(added)
        if max(len(was), len(now)) <= _VALUE:
            return f"{was}{BECOMES}{now}"
    comment = _first_sentence(line for line in added if is_comment(line) and line[0] not in "@*-")
    calls = [list(dict.fromkeys(_calls(lines))) for lines in (removed, added)]
    lost = [name for name in calls[0] if name not in calls[1]][:_MAX_CALLS]
    gained = [name for name in calls[1] if name not in calls[0]][:_MAX_CALLS]
    words = [*(f"-{name}" for name in lost), *(f"+{name}" for name in gained)]
    is_told = comment[:1].isupper() and len(comment.split()) >= _TOLD_WORDS
    return " ".join([*words, f"# {comment}"] if is_told else words)


def _calls(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if not is_comment(line) and len(line) <= _LONGEST_LINE:
            yield from (name for name in _CALL.findall(line) if name not in _NO_CALLS)


def _imports(old: _Side, new: _Side, path: str) -> Iterator[EditedPart]:
    """Yield the packages that a file imports now, and did not before."""
    pattern = _IMPORTS.get(path.rpartition(".")[2])
    if pattern is not None:
        before, after = (list(dict.fromkeys(_imported(side, pattern))) for side in (old, new))
        yield from (EditedPart(IMPORTED, name) for name in after if name not in before)


def _imported(side: _Side, pattern: re.Pattern[str]) -> Iterator[str]:
    for line in side.lines:
        found = pattern.match(line.strip()[:_LONGEST_LINE])
        name = next(filter(None, found.groups()), "") if found else ""
        if name and name not in sys.stdlib_module_names:
            # `lodash/fp` and `@scope/name/part` are parts of packages.
            parts = name.split("/")
            depth = 2 if name.startswith("@") else len(parts) if "." in parts[0] else 1
            yield "/".join(parts[:depth])
