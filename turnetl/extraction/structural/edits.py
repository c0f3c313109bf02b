"""Facts about what a turn did to files: which definitions it changed, in one sentence of the edit.

All edits of one definition are one change. What a turn both adds and removes again, it did not do.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from operator import attrgetter

from turnetl.base import ids, relations
from turnetl.base.edit_outline import (
    ADDED,
    BECOMES,
    CHANGED,
    DELETED,
    IMPORTED,
    RENAMED,
    EditedPart,
)
from turnetl.base.model import Fact
from turnetl.episode_text import prose
from turnetl.extraction.structural import shell_commands
from turnetl.extraction.structural.findings import (
    FILE,
    PACKAGE,
    SETTING,
    SYMBOL,
    TEST,
    EntityKey,
    FactDraft,
)
from turnetl.extraction.structural.tool_calls import (
    WRITE_KINDS,
    CallKind,
    ClassifiedCall,
    by_its_agent,
)
from turnetl.extraction.structural.turn_features import TurnFeatures
from turnetl.graph.mirror.group import GroupView

RELATIONS = {
    ADDED: relations.ADDED,
    CHANGED: relations.CHANGED,
    DELETED: relations.DELETED,
    RENAMED: relations.RENAMED,
}
"""What a turn may do to a file, and to what is in it. Of a text, both endpoints are the file."""
BEFORE, AFTER = "before", "after"
"""Attributes of a fact about one line that changed."""
_RANK, _IMPORT_RANK = 5, 9
_MAX_FILES, _MAX_OF_FILE, _MAX_IMPORTS = 25, 3, 2
_FILES = 5
"""For every five files that a turn edits, each file has one fact fewer, but at least one."""
_SHOWN_PATH, _SHOWN_NAMES = 48, 4
_SETTINGS_FILE = re.compile(
    r"\.(?:toml|ini|cfg|conf|properties|ya?ml|jsonc?|json5)$|(?:^|/)\.env[\w.]{0,20}$"
)
_TEXT_FILE = re.compile(r"\.(?:mdx?|markdown|rst|adoc|txt)$", re.IGNORECASE)
_TEST_NAME = re.compile(r"^(?:Test[A-Z_]|test_)|\s")
TEST_FILE = re.compile(r"(?:^|[/._-])(?:tests?|specs?|__tests__)(?:[/._-]|$)|_test\.\w+$")
_NOT_CHANGED_BY_HAND = re.compile(
    r"(?:^|/)(?:package-lock\.json|pnpm-lock\.yaml|go\.sum|[\w.-]*\.lock)$"
    r"|\.(?:min\.\w+|snap|map|png|jpe?g|gif|ico|pdf|zip|gz|woff2?|svg)$"
)
_DEPENDENCIES = re.compile(
    r"(?:^|\.)(?:(?:dev|peer|build|optional)?-?[dD]ependencies)\.(@?[\w./-]+)$"
)
_NEEDS = "dependencies."
_CHANGING = re.compile(
    r"\b(?:add|updat|chang|fix|remov|mov|renam|creat|replac|implement|extract|refactor|wrot|delet"
    r"|simplif|introduc|convert|handl|now|no longer|instead)",
    re.IGNORECASE,
)
_VAGUE = re.compile(
    r"^(?:now\b|let\b|let's|this\b|that\b|it\b|its\b|these\b|those\b|they\b|he\b|so\b|but\b|and\b"
    r"|also\b|then\b|next\b|first\b|i\b|i'|we\b|you\b|here\b|there\b|however"
    r"|the (?:issue|problem|error|fix)\b"
    r"|good|great|perfect|done|yes|no\b|ok|which\b|because\b|since\b|if\b)|\?$|:$"
    r"|\b(?:should|would|could|will|going to|need(?:s|ed)?|let me|want|we|can just)\b",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"^(?://|#|--|\*|/\*|\"\"\")")
_COMMENT_MARK = re.compile(r"\s+(?://|#|--|\*)\s+")
_NO_CONTENT = re.compile(r"was changed(?: \(|$)|“[^”]{0,300}(?:…|: 1\.? [^”]{0,300})”$")
"""A sentence without what changed, or with code or a comment that is cut."""
_BUILT = re.compile(r"(?:^|/)(?:dist|build|out|target|coverage)(?:/|$)")
_SHORT_LINE, _SHOWN_SUMMARY, _MANY, _MIN_SENTENCE, _MAX_SENTENCE = 100, 160, 3, 25, 240


@dataclass(frozen=True, slots=True)
class _Edit:
    """What a turn changed of one definition of a file, or of the file itself."""

    file: str
    change: EditedPart
    calls: tuple[ClassifiedCall, ...]

    @property
    def name(self) -> str:
        return self.change.name

    @property
    def value(self) -> tuple[str, str] | None:
        """The line before and after; None: more than a line changed."""
        before, separator, after = self.change.detail.partition(BECOMES)
        return (before, after) if separator else None


def edit_facts(features: TurnFeatures) -> Iterator[FactDraft]:
    """Yield the facts about files: at least one of a file, and at most three."""
    by_file: dict[str, list[_Edit]] = defaultdict(list)
    imported: list[_Edit] = []
    for edit in _merged(_edits(features)):
        (imported if edit.change.kind == IMPORTED else by_file[edit.file]).append(edit)
    _find_moved(features, by_file)
    files = sorted(by_file, key=lambda file: bool(TEST_FILE.search(file)))[:_MAX_FILES]
    facts, vague = list[FactDraft](), list[FactDraft]()
    for file in files:
        # Beside the change that it tests, what a test calls tells little.
        is_minor = facts and TEST_FILE.search(file)
        edits = [one for one in by_file[file] if not is_minor or _informative(one.change) != 1]
        named = [one for one in by_file[file] if one.name] or by_file[file]
        edits = edits if any(one.name for one in edits) else named[:1]
        told = _file_facts(features, file, edits)
        facts += told[: max(1, _MAX_OF_FILE - len(files) // _FILES)]
        vague += [] if told else [_vague_fact(features, edits)]
    # That a file was changed is said only if nothing tells more of the turn.
    facts += [one for one in vague if not (facts and _NO_CONTENT.search(one.text))]
    moved = {fact.target for fact in facts if fact.relation == "ADDED"}
    yield from (one for one in facts if one.relation != "DELETED" or one.target not in moved)
    folders = {part for file in (*by_file, *features.other_files) for part in file.split("/")[:-1]}
    needed = [one for one in imported if one.name not in folders and not TEST_FILE.search(one.file)]
    for edit in needed[:_MAX_IMPORTS]:
        text = f"{_shown(edit.file)} imports `{edit.name}`"
        yield _draft(features, edit, "DEPENDS_ON", EntityKey(PACKAGE, edit.name), text)


def _find_moved(features: TurnFeatures, by_file: dict[str, list[_Edit]]) -> None:
    """Replace a new file by a move, if the turn removed one that it knew by the same name."""
    whole = {file: edit for file, edits in by_file.items() for edit in edits if not edit.name}
    gone = [file for file, edit in whole.items() if edit.change.kind == DELETED]
    for file, edit in whole.items():
        base = file.rpartition("/")[2]
        known = (*gone, *features.other_files) if edit.change.kind == ADDED else ()
        for old in known:
            if (
                old != file
                and old.rpartition("/")[2] == base
                and any(f"{old}/".startswith(f"{folder}/") for folder in gone)
            ):
                by_file.pop(old, None)
                by_file[old] = [_Edit(old, EditedPart(RENAMED, "", file), edit.calls)]
                del by_file[file]
                break


def _edits(features: TurnFeatures) -> Iterator[_Edit]:
    for call in features.calls:
        if call.call.is_error:
            continue
        if call.kind in WRITE_KINDS:
            yield from _of_call(features, call)
        elif call.kind is CallKind.RUN and call.targets:
            for change in shell_commands.file_changes(call.targets[0]):
                file = features.paths.file(change.path)
                moved = features.paths.file(change.detail) if change.kind == RENAMED else ""
                if file is not None and moved is not None and not _BUILT.search(file):
                    yield _Edit(file, change._replace(detail=moved or change.detail), (call,))


def _of_call(features: TurnFeatures, call: ClassifiedCall) -> Iterator[_Edit]:
    files = {path: features.paths.file(path) for path in call.targets}
    named = {change.path for change in call.changes}
    for path, file in files.items():
        if file is None or _NOT_CHANGED_BY_HAND.search(file):
            continue
        own = [change for change in call.changes if change.path in {"", path}]
        if not own or not named & {"", path}:
            is_new = call.kind is CallKind.CREATE and "updated" not in call.call.result[:200]
            own = [EditedPart(ADDED if is_new else CHANGED, "", _line_change(call))]
        packages = shell_commands.in_manifest(file, call.detail)
        own += [EditedPart(ADDED, f"{_NEEDS}{package}") for package in packages]
        for change in own:
            # The list of dependencies: each of them is a change of its own.
            if not (packages and change.name.endswith("dependencies")):
                yield _Edit(file, change, (call,))


def _line_change(call: ClassifiedCall) -> str:
    """Return the line before and after, if the summary of a call shows that no more changed."""
    change = call.call.input.partition(" :: ")[2]
    if change.startswith("+ ") and len(change) <= _SHOWN_SUMMARY:
        return f"{BECOMES}{change[2:]}"
    before, _, after = change.partition(" + ")
    is_short = len(change) <= _SHOWN_SUMMARY and after and " + " not in after
    return f"{before.removeprefix('- ')}{BECOMES}{after}" if is_short else ""


def _merged(edits: Iterable[_Edit]) -> list[_Edit]:
    """Return one edit of each definition, in the order of the first ones."""
    found: dict[tuple[str, str, bool], _Edit | None] = {}
    for edit in edits:
        key = (edit.file, edit.name, edit.change.kind == IMPORTED)
        before = found.get(key)
        if edit.change.kind in {DELETED, shell_commands.RESTORED} and not edit.name:
            found = {one: value for one, value in found.items() if one[0] != edit.file}
        if edit.change.kind != shell_commands.RESTORED:
            found[key] = edit if before is None else _joined(before, edit)
    return [edit for edit in found.values() if edit is not None]


def _joined(first: _Edit, second: _Edit) -> _Edit | None:
    """Return what two edits of the same definition did together; None: nothing."""
    calls = (*first.calls, *second.calls)
    kinds = first.change.kind, second.change.kind
    if kinds == (ADDED, DELETED) or (first.value and first.value == _reversed(second)):
        return None
    if kinds[0] in {ADDED, RENAMED, IMPORTED}:
        return replace(first, calls=calls)
    if kinds == (DELETED, ADDED):
        return _Edit(first.file, EditedPart(CHANGED, first.name), calls)
    detail = _joined_detail(first, second) if kinds[1] == CHANGED else second.change.detail
    return _Edit(first.file, second.change._replace(detail=detail), calls)


def _joined_detail(first: _Edit, second: _Edit) -> str:
    if first.value and second.value and first.value[1] == second.value[0]:
        return f"{first.value[0]}{BECOMES}{second.value[1]}"
    if first.value is None and second.value is None:
        return _Words.of(first.change.detail).then(_Words.of(second.change.detail)).detail
    return max(first.change, second.change, key=_informative).detail


@dataclass(frozen=True, slots=True)
class _Words:
    """What a changed definition no longer calls, what it calls now, and a comment that it got."""

    lost: tuple[str, ...]
    gained: tuple[str, ...]
    comment: str

    @classmethod
    def of(cls, detail: str) -> "_Words":
        calls, _, comment = detail.partition("# ")
        comment = comment.removeprefix("Note: ")
        comment = "" if _VAGUE.search(comment) or ": 1" in comment else comment
        words = calls.split()
        lost, gained = (tuple(x[1:] for x in words if x[:1] == sign) for sign in "-+")
        return cls(lost, gained, comment)

    def then(self, later: "_Words") -> "_Words":
        lost = [*self.lost, *(name for name in later.lost if name not in self.gained)]
        gained = [*(name for name in self.gained if name not in later.lost), *later.gained]
        return _Words(
            tuple(dict.fromkeys(name for name in lost if name not in gained)),
            tuple(dict.fromkeys(name for name in gained if name not in self.lost)),
            self.comment or later.comment,
        )

    @property
    def detail(self) -> str:
        words = [*(f"-{name}" for name in self.lost), *(f"+{name}" for name in self.gained)]
        return " ".join([*words, f"# {self.comment}"] if self.comment else words)

    def sentence(self, name: str) -> str:
        gained, lost = (
            _listed([f"`{call}`" for call in calls[:_SHOWN_NAMES]])
            for calls in (self.gained, self.lost)
        )
        instead = f" in place of {lost}" if lost and gained else ""
        done = (
            f"now calls {gained}{instead}" if gained else f"no longer calls {lost}" if lost else ""
        )
        if not done and not self.comment:
            return ""
        return f"`{name}` {done or 'was changed'}{f': {self.comment}' if self.comment else ''}"


def _reversed(edit: _Edit) -> tuple[str, str] | None:
    return edit.value[::-1] if edit.value is not None else None


def _informative(change: EditedPart) -> int:
    """Return how much the detail of a change says."""
    if not change.detail or _is_of_comment(change.detail):
        return 0
    return 3 if BECOMES in change.detail else 2 if "# " in change.detail else 1


def _is_of_comment(detail: str) -> bool:
    """Whether the one line that changed is a comment."""
    before, separator, after = detail.partition(BECOMES)
    return bool(separator) and all(not line or _COMMENT.match(line) for line in (before, after))


def _file_facts(features: TurnFeatures, file: str, edits: list[_Edit]) -> list[FactDraft]:
    whole = next((edit for edit in edits if not edit.name), None)
    if whole is not None and whole.change.kind != CHANGED:
        parts = [edit for edit in edits if edit.name and not _dependency(edit)]
        needed = [fact for edit in edits if edit not in parts for fact in _needed(features, edit)]
        return [_whole_fact(features, whole, parts), *needed]
    if _TEXT_FILE.search(file):
        return _text_facts(features, file, edits)
    return [fact for one in _by_weight(edits) for fact in _definition_fact(features, *one)]


def _by_weight(edits: Iterable[_Edit]) -> list[tuple[_Edit, list[_Edit]]]:
    """Return the most telling first; of many that changed alike one, and the others."""
    alike: dict[object, list[_Edit]] = defaultdict(list)
    for edit in edits:
        if edit.name:
            same = edit.change.detail if edit.change.detail[:1] in {"+", "-"} else ""
            alike[same or edit.name].append(edit)
    groups = [
        [group] if len(group) >= _MANY else [[one] for one in group] for group in alike.values()
    ]
    return sorted(
        ((first, others) for group in groups for first, *others in group),
        key=lambda one: (
            one[0].change.kind == CHANGED and _informative(one[0].change) == 0,
            bool(_TEST_NAME.search(one[0].name)),
            one[0].change.kind == CHANGED,
            -_informative(one[0].change),
        ),
    )


def _definition_fact(
    features: TurnFeatures, edit: _Edit, others: Sequence[_Edit]
) -> Iterator[FactDraft]:
    change, file, name = edit.change, _shown(edit.file), edit.name
    if needed := list(_needed(features, edit)):
        yield from needed
        return
    target = EntityKey(_label(edit.file, name), name)
    if change.kind == RENAMED:
        target = EntityKey(target.label, change.detail)
    text = f"{file}: {_phrase(change)}{_added(edit) if change.kind == ADDED else ''}"
    if change.kind == CHANGED:
        text = _changed(features, edit)
    if text:
        names = [f"`{one.name}`" for one in others[:_SHOWN_NAMES]]
        rest = [f"{len(others) - len(names)} more"] if len(others) > len(names) else []
        text += f", and likewise {_listed([*names, *rest])}" if others else ""
        yield _draft(features, edit, RELATIONS[change.kind], target, text)


def _added(edit: _Edit) -> str:
    if edit.value is not None:
        return f" (`{_code(edit.value[1])}`)"
    doc = re.sub(rf"^{re.escape(edit.name)}:? (?:is (?:an? |the )?)?", "", edit.change.detail)
    return f": {doc}" if doc else ""


def _changed(features: TurnFeatures, edit: _Edit) -> str:
    """Return the sentence about a changed definition; empty: neither edit nor agent tell one."""
    file, name, detail = _shown(edit.file), edit.name, edit.change.detail
    if edit.value is not None and not _is_of_comment(detail):
        return f"{file}: {_value_change(name, *edit.value)}"
    words = _Words.of("" if edit.value is not None else detail)
    told = "" if words.comment else _sentence(features, name, edit.calls)
    told = told or words.sentence(name)
    return f"{file}: {told}" if told else ""


_SETTING_LINE = re.compile(r"^([\w.\"'$@/-]{1,80})\s{0,20}(?::=|[:=])\s{0,20}(\S.{0,140}?),?$")


def change_phrase(changes: Iterable[EditedPart]) -> str:
    """Return what the most telling of changes did, without the file; empty: none has a name."""
    told = sorted(filter(attrgetter("name"), changes), key=lambda one: -_informative(one))
    changed = (f"`{one.name}` was changed" for one in told if one.kind == CHANGED)
    return next(chain(filter(None, map(_phrase, told)), changed), "")


def _phrase(change: EditedPart) -> str:
    before, separator, after = change.detail.partition(BECOMES)
    if change.kind == CHANGED:
        if separator and not _is_of_comment(change.detail):
            return _value_change(change.name, before, after)
        return "" if separator else _Words.of(change.detail).sentence(change.name)
    verbs = {ADDED: "added", DELETED: "removed", RENAMED: f"renamed to `{change.detail}`"}
    return f"`{change.name}` was {verbs[change.kind]}" if change.kind in verbs else ""


def _value_change(name: str, before: str, after: str) -> str:
    was, now = _SETTING_LINE.match(before), _SETTING_LINE.match(after)
    if was and now and was.group(1) == now.group(1):
        key = was.group(1).strip("\"'")
        place = "" if name.endswith(key) else f"`{_code(key)}` in "
        return f"{place}`{name}` changed from `{_code(was.group(2))}` to `{_code(now.group(2))}`"
    if before and after:
        before, after = _without_equal_ends(before, after)
    return f"in `{name}`, {_whole_line(before, after)}"


def _without_equal_ends(before: str, after: str) -> tuple[str, str]:
    """Return two long lines from the words on in which they differ, and to those."""
    if max(len(before), len(after)) <= _SHORT_LINE:
        return before, after
    words = [re.split(r"(?<=[\s(,])", line) for line in (before, after)]
    most = min(map(len, words)) - 1
    first = next((at for at in range(most) if words[0][at] != words[1][at]), most)
    first = max(0, first - 1)
    last = next((at for at in range(most - first) if words[0][-1 - at] != words[1][-1 - at]), 0)
    return tuple(  # type: ignore[return-value]
        f"{'…' if first else ''}{''.join(line[first : len(line) - last])}{'…' if last else ''}"
        for line in words
    )


def _code(text: str) -> str:
    return prose.shorten(text.replace("`", "'"), 140)


def _listed(words: Sequence[str]) -> str:
    *most, last = words or [""]
    return f"{', '.join(most)} and {last}" if most else last


def _label(file: str, name: str) -> str:
    if _SETTINGS_FILE.search(file):
        return SETTING
    return TEST if _TEST_NAME.search(name) and TEST_FILE.search(file) else SYMBOL


def _dependency(edit: _Edit) -> str:
    found = _DEPENDENCIES.search(edit.name) if shell_commands.is_manifest(edit.file) else None
    return found.group(1) if found else ""


def _needed(features: TurnFeatures, edit: _Edit) -> Iterator[FactDraft]:
    """Yield the fact about a package that a manifest names, or no longer names."""
    package = _dependency(edit)
    if not package:
        return
    target, file = EntityKey(PACKAGE, package), _shown(edit.file)
    line = f" (`{_code(edit.value[1])}`)" if edit.value is not None and edit.value[1] else ""
    if edit.change.kind == DELETED:
        gone = EntityKey(SETTING, f"{_NEEDS}{package}")
        yield _draft(features, edit, "DELETED", gone, f"{file} no longer depends on `{package}`")
    else:
        yield _draft(features, edit, "DEPENDS_ON", target, f"{file} depends on `{package}`{line}")


def _whole_fact(features: TurnFeatures, edit: _Edit, parts: Sequence[_Edit]) -> FactDraft:
    """Return the fact about a file that is new, removed or moved."""
    change, file = edit.change, _shown(edit.file)
    itself = EntityKey(FILE, edit.file)
    if change.kind == RENAMED:
        text = f"`{edit.file}` was moved to `{change.detail}`"
        return _draft(features, edit, "RENAMED", EntityKey(FILE, change.detail), text)
    if change.kind == DELETED:
        return _draft(features, edit, "DELETED", itself, f"`{edit.file}` was removed")
    names = [part.name for part in parts if part.change.kind == ADDED]
    told = [part.change.detail for part in parts if part.name == change.detail]
    sentence = (
        ". ".join(filter(None, [change.detail, *told[:1]])) if BECOMES not in change.detail else ""
    )
    sentence = sentence or _sentence(features, edit.file.rpartition("/")[2], edit.calls)
    held = [name for name in names if name != change.detail][:_SHOWN_NAMES]
    is_text = bool(_TEXT_FILE.search(edit.file))
    quoted = [f"“{name}”" if is_text else f"`{name}`" for name in held]
    text = f"{file} was added" + (f": {sentence}" if sentence else "")
    holding = f" (with {_listed(quoted)})" if quoted else ""
    text += holding or ("" if sentence else _first_line(edit.calls[0]))
    calls = tuple(dict.fromkeys(call for one in (edit, *parts) for call in one.calls))
    target = itself if is_text or not names else EntityKey(_label(edit.file, names[0]), names[0])
    return _draft(features, replace(edit, calls=calls), "ADDED", target, text)


def _text_facts(features: TurnFeatures, file: str, edits: list[_Edit]) -> list[FactDraft]:
    """Return the fact about a document: which sections were added, removed and changed."""
    calls = tuple(dict.fromkeys(call for edit in edits for call in edit.calls))
    merged = _Edit(file, EditedPart(CHANGED, ""), calls)
    sentence = _sentence(features, file.rpartition("/")[2], calls)
    parts = []
    for kind, verb in ((ADDED, "added"), (DELETED, "removed"), (CHANGED, "changed")):
        names = [f"“{edit.name}”" for edit in edits if edit.name and edit.change.kind == kind]
        if names:
            were = "were" if len(names) > 1 else "was"
            parts.append(f"{_listed(names[:_SHOWN_NAMES])} {were} {verb}")
    values = [edit.value for edit in edits if edit.value is not None and any(edit.value)]
    if len(edits) == 1 and values:
        text = _value_change(edits[0].name, *values[0]) if edits[0].name else ""
        parts = [text.replace(f"`{edits[0].name}`", f"“{edits[0].name}”")] if text else parts
        parts = parts or [_whole_line(*values[0])]
    if not parts:
        return []
    text = f"{_shown(file)}: {'; '.join(parts)}" + (f". {sentence}" if sentence else "")
    return [_draft(features, merged, "CHANGED", EntityKey(FILE, file), text)]


def _whole_line(before: str, after: str) -> str:
    if before and after:
        return f"`{_code(before)}` became `{_code(after)}`"
    return f"`{_code(after)}` was added" if after else f"`{_code(before)}` was removed"


def _vague_fact(features: TurnFeatures, edits: Sequence[_Edit]) -> FactDraft:
    """Return the fact about a file of which no definition tells what changed."""
    file = edits[0].file
    calls = tuple(dict.fromkeys(call for edit in edits for call in edit.calls))
    name = next((edit.name for edit in edits if edit.name), "")
    values = [edit.value for edit in edits if not name and edit.value and any(edit.value)]
    text = _sentence(features, file.rpartition("/")[2], calls)
    if not text and len(values) == 1:
        text = _whole_line(*values[0])
    if not text:
        line = _first_line(next((edit.calls[0] for edit in edits if edit.name == name), calls[0]))
        text = f"`{name}` was changed{line}" if name else f"was changed{line}"
    target = EntityKey(_label(file, name), name) if name else EntityKey(FILE, file)
    merged = _Edit(file, EditedPart(CHANGED, ""), calls)
    text = f"{_shown(file)}{' ' if text.startswith('was ') else ': '}{text}"
    return _draft(features, merged, "CHANGED", target, text)


def _first_line(call: ClassifiedCall) -> str:
    """Return in brackets what a call wrote first, or what the comment says that it wrote."""
    _, _, added = f" {call.detail}".partition(" + ")
    change = prose.shorten(added or call.detail, 140)
    comment = _COMMENT.sub("", change).strip() if _COMMENT.match(change) else ""
    if comment:
        return f"; a comment now says “{_COMMENT_MARK.sub(' ', comment)}”"
    return f" (`{_code(change)}`)" if change else ""


def _sentence(features: TurnFeatures, name: str, calls: Iterable[ClassifiedCall]) -> str:
    """Return what the agent says about a changed thing, if that is understood alone."""
    word = re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)")
    for sentences in features.said_with(calls):
        for sentence in sentences:
            if (
                _MIN_SENTENCE <= len(sentence) <= _MAX_SENTENCE
                and word.search(sentence)
                and _CHANGING.search(sentence)
                and not _VAGUE.search(sentence)
            ):
                return sentence.rstrip(".")
    return ""


def _shown(file: str) -> str:
    if len(file) <= _SHOWN_PATH:
        return f"`{file}`"
    return f"`{'/'.join(['…', *file.split('/')[-2:]])}`"


def _draft(
    features: TurnFeatures, edit: _Edit, relation: str, target: EntityKey, text: str
) -> FactDraft:
    times = [at for call in edit.calls if (at := features.at(call))]
    at = max(times, default=features.turn.started_at)
    rank = _IMPORT_RANK if edit.change.kind == IMPORTED else _RANK
    value = edit.value if relation == RELATIONS[CHANGED] else None
    values = dict(zip((BEFORE, AFTER), map(_code, value), strict=True)) if value else {}
    source = EntityKey(FILE, edit.file)
    draft = FactDraft(rank, source, relation, target, text, at, attributes=values)
    return by_its_agent(draft, edit.calls)


_ENDS: Mapping[str, tuple[str, ...]] = {
    "DELETED": ("ADDED", "CHANGED", "DEPENDS_ON"),
    "ADDED": ("DELETED",),
    "CHANGED": ("CHANGED",),
}
"""What a later fact about the same thing ends."""


def with_ends(
    facts: Iterable[Fact], names: Mapping[str, str], group: GroupView, now: datetime
) -> Iterator[Fact]:
    """Yield the facts of a turn, and those of its group, that no longer hold, with their ends.

    What was added and is removed, a value that changed again. Turns may arrive late: either of the
    two facts may be the one of the turn. `names` has the names of entities by uuid.
    """
    for fact in facts:
        if fact.relation not in _ENDS or fact.valid_at is None:
            continue
        name = ids.folded_name(PACKAGE, names[fact.target].removeprefix(_NEEDS))
        needed = ids.entity_id(fact.group_id, PACKAGE, name)
        for relation in (*_ENDS, "DEPENDS_ON"):
            for other in group.valid_facts(fact.source, relation):
                earlier, later = sorted(
                    (fact, other), key=lambda one: (one.valid_at or now, one.uuid)
                )
                if other.uuid != fact.uuid and _no_longer_holds(earlier, later, needed):
                    yield replace(earlier, invalid_at=later.valid_at, expired_at=now)


def _no_longer_holds(earlier: Fact, later: Fact, needed: str) -> bool:
    if earlier.relation not in _ENDS.get(later.relation, ()) or earlier.valid_at == later.valid_at:
        return False
    # With a file, all that is in it is removed.
    is_whole_file = later.relation == "DELETED" and later.target == later.source
    if not is_whole_file and earlier.target not in {later.target, needed}:
        return False
    if later.relation != "CHANGED":
        return True
    return BEFORE in later.attributes and earlier.attributes.get(AFTER) == later.attributes[BEFORE]
