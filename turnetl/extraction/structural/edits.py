"""Facts about what a turn did to files: which definitions it changed, in one sentence of the edit.

All edits of one definition are one change. What a turn both adds and removes again, it did not do.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from turnetl.base.edit_outline import (
    ADDED,
    BECOMES,
    CHANGED,
    DELETED,
    IMPORTED,
    RENAMED,
    Change,
)
from turnetl.extraction.structural import prose, shell_commands
from turnetl.extraction.structural.findings import (
    FILE,
    PACKAGE,
    SETTING,
    SYMBOL,
    TEST,
    EntityKey,
    FactDraft,
)
from turnetl.extraction.structural.tool_calls import CallKind, ClassifiedCall, by_its_agent
from turnetl.extraction.structural.turn_features import TurnFeatures

RELATIONS = {ADDED: "ADDED", CHANGED: "CHANGED", DELETED: "DELETED", RENAMED: "RENAMED"}
FILE_RELATIONS = frozenset(RELATIONS.values())
"""What a turn may do to a file, and to what is in it. Of a text, both endpoints are the file."""
_RANK, _IMPORT_RANK = 5, 9
_MAX_FACTS, _MAX_OF_FILE, _MAX_IMPORTS = 8, 3, 2
_SHOWN_PATH, _SHOWN_NAMES = 48, 4
_SETTINGS_FILE = re.compile(
    r"\.(?:toml|ini|cfg|conf|properties|ya?ml|jsonc?|json5)$|(?:^|/)\.env[\w.]{0,20}$"
)
_TEXT_FILE = re.compile(r"\.(?:mdx?|markdown|rst|adoc|txt)$", re.IGNORECASE)
_TEST_NAME = re.compile(r"^(?:Test[A-Z_]|test_)|\s")
_TEST_FILE = re.compile(r"(?:^|[/._-])(?:tests?|specs?|__tests__)(?:[/._-]|$)|_test\.\w+$")
_NOT_CHANGED_BY_HAND = re.compile(
    r"(?:^|/)(?:package-lock\.json|pnpm-lock\.yaml|go\.sum|[\w.-]*\.lock)$"
    r"|\.(?:min\.\w+|snap|map|png|jpe?g|gif|ico|pdf|zip|gz|woff2?|svg)$"
)
_DEPENDENCIES = re.compile(
    r"(?:^|\.)(?:(?:dev|peer|build|optional)?-?[dD]ependencies)\.(@?[\w./-]+)$"
)
_IDENTIFIER = re.compile(r"`([A-Za-z_][\w.]{2,60}(?:\(\))?|[\w./-]{3,80}\.\w{1,5})`")
_CHANGING = re.compile(
    r"\b(?:add|updat|chang|fix|remov|mov|renam|creat|replac|implement|extract|refactor|wrot|delet"
    r"|simplif|introduc|convert|handl|now|no longer|instead)",
    re.IGNORECASE,
)
_VAGUE = re.compile(
    r"^(?:now\b|let\b|let's|this\b|that\b|it\b|its\b|these\b|those\b|they\b|he\b|so\b|but\b|and\b"
    r"|also\b|then\b|next\b|first\b|i\b|i'|we\b|you\b|here\b|there\b|however|the (?:issue|problem|error|fix)\b"
    r"|good|great|perfect|done|yes|no\b|ok|which\b|because\b|since\b|if\b)|\?$|:$"
    r"|\b(?:should|would|could|will|going to|need to|needs to|let me|want)\b",
    re.IGNORECASE,
)
_MIN_SENTENCE, _MAX_SENTENCE = 25, 240


@dataclass(frozen=True, slots=True)
class _Edit:
    """What a turn changed of one definition of a file, or of the file itself."""

    file: str
    change: Change
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
    """Yield the facts about files: at most eight of a turn, and three of a file."""
    by_file: dict[str, list[_Edit]] = defaultdict(list)
    imported: list[_Edit] = []
    for edit in _merged(_edits(features)):
        (imported if edit.change.kind == IMPORTED else by_file[edit.file]).append(edit)
    facts: list[FactDraft] = []
    for file, edits in sorted(
        by_file.items(), key=lambda item: _TEST_FILE.search(item[0]) is not None
    ):
        facts += _file_facts(features, file, edits)
    moved = {fact.target for fact in facts if fact.relation == "ADDED"}
    kept = [fact for fact in facts if fact.relation != "DELETED" or fact.target not in moved]
    yield from kept[:_MAX_FACTS]
    for edit in [one for one in imported if not _is_own_package(one)][:_MAX_IMPORTS]:
        text = f"{_shown(edit.file)} imports `{edit.name}`"
        yield _draft(features, edit, "DEPENDS_ON", EntityKey(PACKAGE, edit.name), text)


def _is_own_package(edit: _Edit) -> bool:
    """Whether a module of Python is imported that is a folder of the file's path."""
    return edit.file.endswith(".py") and edit.name in edit.file.split("/")


def _edits(features: TurnFeatures) -> Iterator[_Edit]:
    for call in features.calls:
        if call.call.is_error:
            continue
        if call.kind in {CallKind.EDIT, CallKind.CREATE}:
            yield from _of_call(features, call)
        elif call.kind is CallKind.RUN and call.targets:
            for change in shell_commands.file_changes(call.targets[0]):
                file = features.paths.file(change.path)
                moved = features.paths.file(change.detail) if change.kind == RENAMED else ""
                if file is not None and moved is not None:
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
            own = [Change(ADDED if is_new else CHANGED, "", _line_change(call))]
        packages = shell_commands.in_manifest(file, call.detail)
        own += [Change(ADDED, f"dependencies.{package}") for package in packages]
        for change in own:
            # The list of dependencies: each of them is a change of its own.
            if not (packages and change.name.endswith("dependencies")):
                yield _Edit(file, change, (call,))


def _line_change(call: ClassifiedCall) -> str:
    """Return the line before and after, if the summary of a call shows that no more changed."""
    change = call.call.input.partition(" :: ")[2]
    if change.startswith("+ ") and len(change) <= _MAX_SENTENCE:
        return f"{BECOMES}{change[2:]}"
    before, _, after = change.partition(" + ")
    is_short = len(change) <= _MAX_SENTENCE and after and " + " not in after
    return f"{before.removeprefix('- ')}{BECOMES}{after}" if is_short else ""


def _merged(edits: Iterable[_Edit]) -> list[_Edit]:
    """Return one edit of each definition, in the order of the first ones."""
    found: dict[tuple[str, str, bool], _Edit | None] = {}
    for edit in edits:
        key = (edit.file, edit.name, edit.change.kind == IMPORTED)
        before = found.get(key)
        if edit.change.kind == DELETED and not edit.name:
            found = {one: value for one, value in found.items() if one[0] != edit.file}
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
        return _Edit(first.file, Change(CHANGED, first.name), calls)
    if kinds[1] == CHANGED and first.value and second.value and first.value[1] == second.value[0]:
        detail = f"{first.value[0]}{BECOMES}{second.value[1]}"
        return _Edit(first.file, first.change._replace(detail=detail), calls)
    told = max((first, second), key=lambda one: _informative(one.change))
    return replace(told, calls=calls) if kinds[1] == CHANGED else replace(second, calls=calls)


def _reversed(edit: _Edit) -> tuple[str, str] | None:
    return edit.value[::-1] if edit.value is not None else None


def _informative(change: Change) -> int:
    """Return how much the detail of a change says."""
    if not change.detail:
        return 0
    return 3 if BECOMES in change.detail else 2 if change.detail.startswith("#") else 1


def _file_facts(features: TurnFeatures, file: str, edits: list[_Edit]) -> list[FactDraft]:
    whole = next((edit for edit in edits if not edit.name), None)
    if whole is not None and whole.change.kind != CHANGED:
        parts = [edit for edit in edits if edit.name and not _dependency(edit)]
        needed = [fact for edit in edits if edit not in parts for fact in _needed(features, edit)]
        return [_whole_fact(features, whole, parts), *needed[: _MAX_OF_FILE - 1]]
    if _TEXT_FILE.search(file):
        return list(_text_fact(features, file, edits))
    told = [fact for one in _by_weight(edits) for fact in _definition_fact(features, *one)]
    return told[:_MAX_OF_FILE] or list(_vague_fact(features, edits))


def _by_weight(edits: Iterable[_Edit]) -> list[tuple[_Edit, int]]:
    """Return the most telling first; of those that changed alike one, and how many others."""
    alike: dict[object, list[_Edit]] = defaultdict(list)
    for edit in edits:
        if edit.name:
            same = edit.change.detail if edit.change.detail[:1] in "+-" else ""
            alike[(edit.change.kind, same) if same else edit.name].append(edit)
    return sorted(
        ((group[0], len(group) - 1) for group in alike.values()),
        key=lambda one: (
            one[0].change.kind != RENAMED,
            bool(_TEST_NAME.search(one[0].name)),
            -_informative(one[0].change),
        ),
    )


def _definition_fact(features: TurnFeatures, edit: _Edit, others: int) -> Iterator[FactDraft]:
    change, file, name = edit.change, _shown(edit.file), edit.name
    if needed := list(_needed(features, edit)):
        yield from needed
        return
    target = EntityKey(_label(edit.file, name), name)
    if change.kind == RENAMED:
        target = EntityKey(target.label, change.detail)
        text = f"{file}: `{name}` was renamed to `{change.detail}`"
    elif change.kind == DELETED:
        text = f"{file}: `{name}` was removed"
    elif change.kind == ADDED:
        text = f"{file}: `{name}` was added{_added(edit)}"
    else:
        text = _changed(features, edit)
    if text:
        text += f" (and so do {others} more)" if others else ""
        yield _draft(features, edit, RELATIONS[change.kind], target, text)


def _added(edit: _Edit) -> str:
    if edit.value is not None:
        return f" (`{_code(edit.value[1])}`)"
    doc = re.sub(rf"^{re.escape(edit.name)}:? (?:is (?:an? |the )?)?", "", edit.change.detail)
    return f": {doc}" if doc else ""


def _changed(features: TurnFeatures, edit: _Edit) -> str:
    """Return the sentence about a changed definition; empty: neither edit nor agent tell one."""
    file, name, detail = _shown(edit.file), edit.name, edit.change.detail
    if edit.value is not None:
        return f"{file}: {_value_change(name, *edit.value)}"
    if detail.startswith("# "):
        return f"{file}: `{name}` was changed: {detail[2:]}"
    sentence = _sentence(features, name, edit.calls)
    if sentence:
        return f"{file}: {sentence}"
    calls = {
        sign: [f"`{word[1:]}`" for word in detail.split(" ") if word[:1] == sign] for sign in "+-"
    }
    gained, lost = _listed(calls["+"]), _listed(calls["-"])
    if gained and lost:
        return f"{file}: `{name}` now calls {gained} in place of {lost}"
    if gained:
        return f"{file}: `{name}` now calls {gained}"
    return f"{file}: `{name}` no longer calls {lost}" if lost else ""


_SETTING_LINE = re.compile(r"^([\w.\"'$@/-]{1,80})\s{0,20}[:=]\s{0,20}(\S.{0,100}?),?$")


def _value_change(name: str, before: str, after: str) -> str:
    was, now = _SETTING_LINE.match(before), _SETTING_LINE.match(after)
    if was and now and was.group(1) == now.group(1):
        key = was.group(1).strip("\"'")
        place = "" if name.endswith(key) else f"`{_code(key)}` in "
        return f"{place}`{name}` changed from `{_code(was.group(2))}` to `{_code(now.group(2))}`"
    if before and after:
        return f"in `{name}`, `{_code(before)}` became `{_code(after)}`"
    line, verb = (after, "added") if after else (before, "removed")
    return f"in `{name}`, `{_code(line)}` was {verb}"


def _code(text: str) -> str:
    return prose.shorten(text.replace("`", "'"), 140)


def _listed(words: Sequence[str]) -> str:
    *most, last = words or [""]
    return f"{', '.join(most)} and {last}" if most else last


def _label(file: str, name: str) -> str:
    if _SETTINGS_FILE.search(file):
        return SETTING
    return TEST if _TEST_NAME.search(name) and _TEST_FILE.search(file) else SYMBOL


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
        text = f"{file} no longer depends on `{package}`"
        yield _draft(features, edit, "DELETED", target, text)
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
    sentence = change.detail if BECOMES not in change.detail else ""
    sentence = sentence or _sentence(features, edit.file.rpartition("/")[2], edit.calls)
    held = [name for name in names if name != sentence][:_SHOWN_NAMES]
    is_text = bool(_TEXT_FILE.search(edit.file))
    quoted = [f"“{name}”" if is_text else f"`{name}`" for name in held]
    text = f"{file} was added" + (f": {sentence}" if sentence else "")
    text += f" (with {_listed(quoted)})" if quoted else ""
    calls = tuple(dict.fromkeys(call for one in (edit, *parts) for call in one.calls))
    target = itself if is_text or not names else EntityKey(_label(edit.file, names[0]), names[0])
    return _draft(features, replace(edit, calls=calls), "ADDED", target, text)


def _text_fact(features: TurnFeatures, file: str, edits: list[_Edit]) -> Iterator[FactDraft]:
    """Yield the fact about a document: which sections were added, removed and changed."""
    calls = tuple(dict.fromkeys(call for edit in edits for call in edit.calls))
    merged = _Edit(file, Change(CHANGED, ""), calls)
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
    if parts:
        told = " ".join(call.call.input for call in calls)
        target = _mentioned(features, told) or EntityKey(FILE, file)
        text = f"{_shown(file)}: {'; '.join(parts)}" + (f". {sentence}" if sentence else "")
        yield _draft(features, merged, "CHANGED", target, text)
    elif sentence:
        yield _draft(
            features, merged, "CHANGED", EntityKey(FILE, file), f"{_shown(file)}: {sentence}"
        )


def _whole_line(before: str, after: str) -> str:
    if before and after:
        return f"`{_code(before)}` became `{_code(after)}`"
    return f"`{_code(after)}` was added" if after else f"`{_code(before)}` was removed"


def _mentioned(features: TurnFeatures, text: str) -> EntityKey | None:
    """Return the symbol or file that changed lines of a document name most often."""
    names = Counter(name.removesuffix("()") for name in _IDENTIFIER.findall(text[:8000]))
    for name, _ in names.most_common(5):
        if "/" in name or re.search(r"\.[a-z]{1,4}$", name):
            file = features.paths.mentioned(name)
            if file is not None and file not in features.edited_files:
                return EntityKey(FILE, file)
        elif re.search(r"[a-z][A-Z]|_|[A-Z][a-z]+[A-Z]", name):
            return EntityKey(SYMBOL, name)
    return None


def _vague_fact(features: TurnFeatures, edits: Sequence[_Edit]) -> Iterator[FactDraft]:
    """Yield the fact about a file of which no definition tells what changed."""
    file = edits[0].file
    calls = tuple(dict.fromkeys(call for edit in edits for call in edit.calls))
    sentence = _sentence(features, file.rpartition("/")[2], calls)
    values = [
        edit.value for edit in edits if not edit.name and edit.value is not None and any(edit.value)
    ]
    text = sentence or (_whole_line(*values[0]) if len(values) == 1 else "")
    if text:
        merged = _Edit(file, Change(CHANGED, ""), calls)
        yield _draft(features, merged, "CHANGED", EntityKey(FILE, file), f"{_shown(file)}: {text}")


def _sentence(features: TurnFeatures, name: str, calls: Iterable[ClassifiedCall]) -> str:
    """Return what the agent says about a changed thing, if that is understood alone."""
    word = re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)")
    agents = dict.fromkeys(call.run.agent_id for call in calls if call.run is not None)
    for sentences in (features.sentences, *(features.reports.get(agent, ()) for agent in agents)):
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
    draft = FactDraft(rank, EntityKey(FILE, edit.file), relation, target, text, at)
    return by_its_agent(draft, edit.calls)
