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
from itertools import chain, islice

from turnetl.base import edit_outline
from turnetl.base.edit_outline import (
    ADDED,
    BECOMES,
    CHANGED,
    DELETED,
    IMPORTED,
    NET,
    RENAMED,
    EditedPart,
)
from turnetl.formats.kit.tool_input import EditedText, called_path, edited_texts
from turnetl.formats.port import RawToolCall, RawTurn
from turnetl.parsing import line_changes
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
_MAX_CHANGES, _MAX_REGION = 16, 800
_VALUE, _DOC, _NAME = 140, 180, 80
"""Characters of a changed line, of what a definition says about itself, and of a name."""
_RESTORES = re.compile(
    r"\bgit (?:checkout (?!-[bB])|restore|reset --hard|stash|revert|pull|merge|rebase|switch"
    r"|cherry-pick)|\bsed -i|\bperl -\w?i"
)
_SHOWS = re.compile(r"(?:cd \S{1,200} ?&& ?)?(?:cat|head|tail|nl|bat|sed -n)\s[^;&]*$")
_MIN_ANCHOR = 6
_LONGEST_LINE = 400
_SIMILAR = 0.6
"""Share of lines that a renamed definition keeps."""
_LINE_NUMBER = re.compile(r"^ {0,6}\d{1,6}[→\t:|] ?", re.MULTILINE)
_OVERWRITTEN = re.compile(r"\b(?:updated|overwr\w+|modified)\b")
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
    """Append to the input of each call that edited files what it changed, by definition.

    The last of several calls of a turn that edit a file has also what they did together.
    """
    known = _KnownTexts()
    for turn in turns:
        edited: _Edited = {}
        for call in turn.tool_calls:
            edits = edited_texts(call.arguments) if not call.is_error else []
            if edits:
                if call.original and len({edit.path for edit in edits}) == 1:
                    known.add(edits[0].path, call.original, is_whole=True)
                changes = _of_call(edits, known, call.result)
                call.input += edit_outline.outline_text(changes)
                for path in dict.fromkeys(edit.path for edit in edits):
                    is_known = any(one.name and one.path in {"", path} for one in changes)
                    edited.setdefault(path, []).append((call, is_known))
            elif call.arguments is not None and call.result:
                known.read(call)
            if _restores(call):
                _add_net(edited, known)
                known.by_path.clear()
        _add_net(edited, known)


_Edited = dict[str, list[tuple[RawToolCall, bool]]]
"""The calls that edited each file, and whether it is known of which definitions."""


def _add_net(edited: _Edited, known: "_KnownTexts") -> None:
    for path, calls in edited.items():
        if len(calls) > 1 and any(is_known for _, is_known in calls):
            net = EditedPart(NET, str(len(calls)), "", path)
            changes = [change._replace(path=path) for change in _net_changes(path, known)]
            calls[-1][0].input += edit_outline.outline_text([net, *changes[:_MAX_CHANGES]])
    known.begin(edited)
    edited.clear()


def _restores(call: RawToolCall) -> bool:
    """Whether a call changes files in a way that no text of the archive shows."""
    return not called_path(call.arguments) and _RESTORES.search(call.input[:2000]) is not None


def _net_changes(path: str, known: "_KnownTexts") -> Iterator[EditedPart]:
    """Yield what all edits of a file since the turn began did together."""
    kind = language(path)
    for text in known.by_path.get(path, ()):
        if text.is_new:
            yield EditedPart(ADDED, "", _file_doc(text.text, kind))
        if text.before is not None and text.before != text.text and kind is not None:
            yield from _difference(path, kind, text.before, text)


def _of_call(edits: Sequence[EditedText], known: "_KnownTexts", result: str) -> list[EditedPart]:
    is_one = len({edit.path for edit in edits}) == 1
    found: dict[EditedPart, None] = {}
    for edit in edits:
        for change in islice(_changes(edit, known, result), _MAX_CHANGES):
            found.setdefault(change._replace(path="" if is_one else edit.path))
    return list(found)[: 2 * _MAX_CHANGES]


@dataclass(slots=True)
class _KnownText:
    """A file or a part of one, as the session last saw or left it."""

    shown: str
    """As a tool printed it, perhaps with line numbers."""
    is_whole: bool = False
    is_joined: bool = True
    """Whether its lines follow each other in the file: not in what a search prints."""
    before: str | None = None
    """Before the first edit of the turn; None: the turn did not edit it."""
    is_new: bool = False
    is_plain: bool = False
    above: Sequence[str] = ()
    """The lines above a part, as far as the session saw them."""

    @property
    def text(self) -> str:
        # Few of all texts that are read are edited later.
        if not self.is_plain:
            is_numbered = _LINE_NUMBER.match(self.shown)
            self.shown = _LINE_NUMBER.sub("", self.shown) if is_numbered else self.shown
            self.is_plain = True
        return self.shown

    def edit(self, edit: EditedText) -> bool:
        """Apply an edit; return whether the text holds what it replaces."""
        text = self.text
        if not edit.before or edit.before not in text:
            return False
        self.before = text if self.before is None else self.before
        self.shown = text.replace(edit.before, edit.after, -1 if edit.everywhere else 1)
        return True


def _holding(edit: EditedText, texts: Iterable[_KnownText]) -> _KnownText | None:
    return next((one for one in texts if edit.before and edit.before in one.text), None)


@dataclass(slots=True)
class _KnownTexts:
    """What the session read or wrote of files, by path; results of commands are of any file."""

    by_path: dict[str, deque[_KnownText]] = field(default_factory=dict)

    def add(self, path: str, text: str, *, is_whole: bool = False, is_joined: bool = True) -> None:
        if not _MIN_ANCHOR < len(text) <= _MAX_CHARS:
            return
        texts = self.by_path.setdefault(path, deque(maxlen=_KNOWN))
        if not (is_whole and texts and texts[-1].is_whole and texts[-1].text == text):
            texts.append(_KnownText(text, is_whole, is_joined, is_plain=is_whole))

    def read(self, call: RawToolCall) -> None:
        path = called_path(call.arguments)
        command = "" if path else call.input[:_LONGEST_LINE]
        self.add(path, call.result, is_joined=bool(path) or _SHOWS.match(command) is not None)

    def begin(self, paths: Iterable[str]) -> None:
        """Begin a turn: what was edited of these files before is no edit of the turn."""
        for path in paths:
            for text in self.by_path.get(path, ()):
                text.before, text.is_new = None, False

    def write(self, edit: EditedText) -> _KnownText:
        """Return the file with its new text, and the last whole text before."""
        texts = self.by_path.get(edit.path)
        known = texts[-1] if texts and texts[-1].is_whole else None
        if known is None:
            known = _KnownText(edit.after, is_whole=True, before="", is_new=True, is_plain=True)
            self.by_path.setdefault(edit.path, deque(maxlen=_KNOWN)).append(known)
            return known
        known.before = known.text if known.before is None else known.before
        known.shown = edit.after
        return known

    def edited(self, edit: EditedText) -> tuple[_KnownText, str]:
        """Apply an edit; return the text that it is in, and that before the edit."""
        texts = self.by_path.setdefault(edit.path, deque(maxlen=_KNOWN))
        # What the turn edited before goes on: it knows the text when the turn began.
        found = _holding(edit, sorted(texts, key=lambda one: one.before is None))
        if found is None:
            other = _holding(edit, reversed(self.by_path.get("", ())))
            text = other.text if other else edit.before
            is_joined = other is not None and other.is_joined
            found = _KnownText(text, is_joined=is_joined, is_plain=True)
            texts.append(found)
        if not found.above:
            found.above = [edit.above] if edit.above else self.above(edit)
        before = found.text
        if not found.edit(edit):
            found.before, found.shown = found.text, edit.after
        for one in texts:
            if one is not found:
                is_edited = one.before is not None
                one.edit(edit)
                # The change is told once, of the text that was found.
                one.before = one.before if is_edited else None
        return found, before

    def above(self, edit: EditedText) -> list[str]:
        """Return the lines above the first one of an edit, wherever the session saw it."""
        anchor = next((x for x in edit.before.split("\n") if len(x.strip()) >= _MIN_ANCHOR), "")
        shown = chain(self.by_path.get("", ()), self.by_path.get(edit.path, ()))
        for known in reversed([*shown]) if anchor else ():
            place = known.text.find(anchor)
            if place >= 0 and known.text != edit.after:
                return known.text[:place].split("\n")[:-1]
        return []


class _Side:
    """The lines before or after an edit, with their definitions."""

    def __init__(
        self,
        lines: list[str],
        kind: Language,
        outside: Sequence[Definition],
        *,
        is_closed: bool,
        is_code: bool,
    ) -> None:
        self.lines = lines
        owner = outside[0] if outside else None
        self.found = list(kind.definitions(lines, owner, is_code=is_code))
        self.owners = owners(lines, self.found, kind)
        self.kind = kind
        self.is_closed = is_closed
        """Whether the definitions end in these lines."""
        self._parents = parents(self.found)
        self._outside = outside
        self._names = {one.line: self._name(one) for one in self.found}

    @cached_property
    def names(self) -> dict[str, Definition]:
        names: dict[str, Definition] = {}
        for one in self.found:
            names.setdefault(self.name(one), one)
        return names

    def name(self, one: Definition) -> str:
        """Return the name with the type that owns it; of a setting with all that encloses it."""
        return self._names[one.line]

    def _name(self, one: Definition) -> str:
        around, inner = [], self._parents.get(one.line)
        while inner is not None:
            around.append(inner)
            inner = self._parents.get(inner.line)
        indent = around[-1].indent if around else one.indent
        return self._qualified([one, *around, *self._enclosing(indent)])

    def _enclosing(self, indent: int) -> Iterator[Definition]:
        """Yield what encloses these lines, from the first one on that a line is deep enough for."""
        for one in self._outside:
            if one.indent < indent:
                indent = one.indent
                yield one

    def _qualified(self, path: Sequence[Definition]) -> str:
        """Return the name of the first of definitions, each of which the next one encloses."""
        one, *around = path
        if self.kind.is_settings:
            return ".".join(part.name for part in reversed(path))[-_NAME:]
        is_owned = around and around[0].is_type and not re.search(r"[ .]|::", one.name)
        owner = f"{around[0].name}{self.kind.scope}" if is_owned else ""
        return f"{owner}{one.name}"[:_NAME]

    def owner(self, index: int) -> str:
        """Return the name of what a line is part of; empty: it is not known."""
        owner = self.owners[index]
        if owner is not None:
            return self.name(owner)
        if self.kind.is_prose:
            return self._outside[0].name if self._outside else ""
        outside = [*self._enclosing(indentation(self.lines[index]))] if self._outside else []
        return self._qualified(outside) if outside else ""

    def inside(self, names: Iterable[str]) -> set[int]:
        """Return the lines that begin these definitions, and those that they enclose."""
        inside: set[int] = set()
        for one in self.found:
            parent = self._parents.get(one.line)
            if self.name(one) in names or (parent is not None and parent.line in inside):
                inside.add(one.line)
        return inside

    def bodies(self, others: Iterable[str]) -> dict[str, list[str]]:
        """Return the lines of each definition, but of these, without those that it encloses."""
        lines: dict[str, list[str]] = {}
        inside = self.inside(others)
        for index, line in enumerate(self.lines):
            owner = self.owners[index]
            if line.strip() and (owner is None or owner.line not in inside):
                lines.setdefault(self.owner(index), []).append(line)
        return lines

    def outermost(self, names: Sequence[str]) -> list[str]:
        """Return those of the names that are not part of another one; of settings, no tables."""
        if self.kind.is_settings:
            lines = {
                self._parents[one.line].line for one in self.found if one.line in self._parents
            }
            return [name for name in names if self.names[name].line not in lines]
        inside = self.inside(names)
        enclosing = {name: self._parents.get(self.names[name].line) for name in names}
        return [name for name, one in enclosing.items() if one is None or one.line not in inside]

    def body(self, name: str) -> set[str]:
        start, inside = self.names[name].line, self.inside((name,))
        return {
            line.strip()
            for index, (line, owner) in enumerate(zip(self.lines, self.owners, strict=True))
            if index != start and owner is not None and owner.line in inside and line.strip()
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
        known.by_path.pop(edit.path, None)
        yield EditedPart(DELETED, "")
        return
    kind = language(edit.path)
    is_write = edit.operation == "Write"
    text, before = (known.write(edit), "") if is_write else known.edited(edit)
    if is_write:
        before = text.before or ""
        is_overwritten = text.is_new and bool(_OVERWRITTEN.search(result[:200]))
        if text.is_new:
            yield EditedPart(CHANGED if is_overwritten else ADDED, "", _file_doc(edit.after, kind))
        if is_overwritten:
            text.before, text.is_new = edit.after, False
            return
    if kind is not None and max(len(before), len(text.text)) <= _MAX_CHARS:
        yield from _difference(edit.path, kind, before, text)


def _difference(path: str, kind: Language, before: str, after: _KnownText) -> Iterator[EditedPart]:
    """Yield what changed of a text, by definition."""
    texts = before.split("\n") if before else [], after.text.split("\n")
    if not max(map(len, texts)) < _MAX_LINES:
        return
    start, tail, is_closed = _region(*texts, kind)
    # What is known above holds the enclosing definition, or else the lines that were seen apart.
    above = texts[0][:start] if kind.above(texts[0][:start]) else after.above
    outside = kind.above(above)
    is_code = kind.is_inside_fence(above)
    is_closed = after.is_joined and (is_closed or (after.is_whole and start == 0))
    old, new = (
        _Side(lines[start : len(lines) - tail], kind, outside, is_closed=is_closed, is_code=is_code)
        for lines in texts
    )
    yield from _of_definitions(old, new)
    yield from _imports(old, new, path)


def _region(old: Sequence[str], new: Sequence[str], kind: Language) -> tuple[int, int, bool]:
    """Return how many equal lines begin and end two texts, less those of a changed definition.

    The last value says whether a definition at the margin follows: what stands before it is whole.
    """
    most = min(len(old), len(new))
    start = next((at for at in range(most) if old[at] != new[at]), most)
    tail = next((at for at in range(most - start) if old[-1 - at] != new[-1 - at]), most - start)
    if kind.is_settings or kind.is_prose:
        return start, tail, False
    first, last = start, tail
    while first and not (_at_margin(old, first) and _at_margin(new, first)):
        first -= 1
    while first and is_comment(old[first - 1]):
        first -= 1
    while last and not _at_margin(old, len(old) - last):
        last -= 1
    if len(new) - first - last > _MAX_REGION:
        return start, tail, False
    return first, last, last > 0


def _at_margin(lines: Sequence[str], index: int) -> bool:
    line = lines[index] if index < len(lines) else ""
    return bool(line[:1].strip()) and line[0] not in ")]}{" and not is_comment(line)


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
    before, after = (side.bodies(others) for side in (old, new))
    changed = []
    for name in dict.fromkeys((*before, *after)):
        bodies = before.get(name, []), after.get(name, [])
        if name and line_changes.differ(*bodies):
            changed.append((name, bodies, line_changes.distinct_lines(*bodies)))
    for name, bodies, (lost, gained, comments) in sorted(changed, key=_size):
        comment = _first_sentence(line for line in comments if line[0] not in "@*-")
        is_told = comment[:1].isupper() and len(comment.split()) >= _TOLD_WORDS
        is_closed = all(side.is_closed and name in side.names for side in (old, new))
        told = [*line_changes.details(name, bodies, (lost, gained), is_closed=is_closed)]
        told = told if lost or gained else [*line_changes.comment_change(*bodies)]
        if is_told or not told:
            told.append(f"# {comment}" if is_told else "")
        yield from (EditedPart(CHANGED, name, detail) for detail in told)


def _size(changed: tuple[str, object, tuple[list[str], list[str], list[str]]]) -> int:
    return -len(changed[2][0]) - len(changed[2][1])


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
