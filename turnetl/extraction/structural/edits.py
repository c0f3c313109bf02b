"""Facts about what a turn did to files: which definitions it changed, in one sentence of the edit.

All edits of one definition are one change. What a turn both adds and removes again, it did not do.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from turnetl.base import relations
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
from turnetl.episode_text import prose
from turnetl.extraction.structural import edit_sentences, shell_commands
from turnetl.extraction.structural.edit_sentences import code, listed
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

RELATIONS = {
    ADDED: relations.ADDED,
    CHANGED: relations.CHANGED,
    DELETED: relations.DELETED,
    RENAMED: relations.RENAMED,
}
"""What a turn may do to a file, and to what is in it. Of a text, both endpoints are the file."""
BEFORE, AFTER = "before", "after"
"""Attributes of a fact about a change: its lines, as far as they are known."""
_RANK, _IMPORT_RANK = 5, 9
_MAX_FILES, _MAX_OF_FILE, _MAX_OF_TEST, _MAX_IMPORTS, _MAX_OF_LINES = 25, 3, 2, 2, 2
_SECTIONS = 2
"""Of a document: those of which a fact tells what they say."""
_FILES = 5
"""For every five files that a turn edits, each file has one fact fewer, but at least one."""
_SHOWN_PATH, _SHOWN_NAMES = 48, 4
_SETTINGS_FILE = re.compile(
    r"\.(?:toml|ini|cfg|conf|properties|ya?ml|jsonc?|json5)$|(?:^|/)\.env[\w.]{0,20}$"
)
_TEXT_FILE = re.compile(r"\.(?:mdx?|markdown|rst|adoc|txt)$", re.IGNORECASE)
_TEST_NAME = re.compile(r"^(?:Test[A-Z_]|test_)|\s")
TEST_FILE = re.compile(r"(?:^|[/._-])(?:tests?|specs?|__tests__)(?:[/._-]|$)|_test\.\w+$")
_UNTOLD = re.compile(
    r"(?:^|/)(?:package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|go(?:\.work)?\.sum"
    r"|[\w.-]*\.lock(?:file|b)?)$|\.(?:min\.\w+|snap|map|png|jpe?g|gif|ico|pdf|zip|gz|woff2?|svg"
    r"|log|tmp|bak|orig)$|(?:_pb2(?:_grpc)?\.pyi?|\.pb\.go|\.g\.dart|[._]generated\.\w+|\.gen\.\w+"
    r"|_gen\.go)$|(?:^|/)(?:node_modules|__pycache__|\.venv|site-packages|\.next)/|(?:^"
    r"|/)(?:fixtures?|__fixtures__|testdata|test[_-]data|__snapshots__|cassettes|goldens?)/|^(?:/"
    r"|~|\.\./)|(?:^|/)(?:te?mp|scratch(?:pad)?)/",
    re.IGNORECASE,
)
"""Files of which no fact is told: locked, generated, binary, test data, and those elsewhere."""
_DEPENDENCIES = re.compile(
    r"(?:^|\.)(?:(?:dev|peer|build|optional)?-?[dD]ependencies)\.(@?[\w./-]+)$"
)
NEEDS = "dependencies."
_CHANGING = re.compile(
    r"\b(?:add|updat|chang|fix|remov|mov|renam|creat|replac|implement|extract|refactor|wrot|delet"
    r"|simplif|introduc|convert|handl|now|no longer|instead)",
    re.IGNORECASE,
)
_VAGUE = re.compile(
    r"^(?:now\b|let\b|let's|this\b|that\b|it\b|its\b|these\b|those\b|they\b|he\b|so\b|but\b|and\b"
    r"|also\b|then\b|next\b|first\b|i\b|i'|we\b|you\b|here\b|there\b|however|the (?:issue|problem"
    r"|error|fix)\b|good|great|perfect|done|yes|no\b|ok|which\b|because\b|since\b|if\b)|\?$|:$"
    r"|\b(?:should|would|could|will|going to|need(?:s|ed)?|let me|want|we|can just)\b",
    re.IGNORECASE,
)
_VERSION_NAME = re.compile(r"(?:\w+\.)*_{0,2}version_{0,2}", re.IGNORECASE)
_COMMENT = re.compile(r"^(?://|#|--|\*|/\*|\"\"\")")
_CUT = re.compile(r"“[^”]{0,300}(?:…|: 1\.? [^”]{0,300})”$")
"""A sentence with code or a comment that is cut."""
_BUILT = re.compile(r"(?:^|/)(?:dist|build|out|target|coverage)(?:/|$)")
_SHORT_LINE, _SHOWN_SUMMARY, _MANY, _MIN_SENTENCE, _MAX_SENTENCE = 100, 160, 3, 25, 240


@dataclass(frozen=True, slots=True)
class _Edit:
    """What a turn changed of one definition of a file, or of the file itself."""

    file: str
    change: EditedPart
    calls: tuple[ClassifiedCall, ...]
    details: tuple[str, ...] = ()
    """Of what changed: each way in which it did, the most telling first."""

    @property
    def name(self) -> str:
        return self.change.name

    @property
    def value(self) -> tuple[str, str] | None:
        """The line before and after; None: more than a line changed."""
        before, separator, after = (self.told or [""])[0].partition(BECOMES)
        return (before, after) if separator and len(self.told) == 1 else None

    @property
    def told(self) -> list[str]:
        """The details that say more than a comment."""
        details = self.details or (self.change.detail,)
        return [one for one in details if not edit_sentences.is_trivial(one)]


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
        edits = [one for one in by_file[file] if not is_minor or _informative(one) != 1]
        named = [one for one in by_file[file] if one.name] or by_file[file]
        edits = edits if any(one.name for one in edits) else named[:1]
        told = _file_facts(features, file, edits)
        most = _MAX_OF_TEST if is_minor else _MAX_OF_FILE
        facts += told[: max(1, most - len(files) // _FILES)]
        vague += [] if told else _vague_facts(features, edits)
    # What is cut is said only if nothing tells more of the turn.
    facts += [one for one in vague if not (facts and _CUT.search(one.text))]
    moved = {fact.target for fact in facts if fact.relation == "ADDED"}
    yield from (one for one in facts if one.relation != "DELETED" or one.target not in moved)
    known = (*by_file, *(one.file for one in imported), *features.other_files)
    # A moved file needs what it needed before.
    new = {fact.target.name for fact in facts if fact.relation == "RENAMED"}
    needed = [
        one
        for one in imported
        if not (one.file in new or _is_own(one.name, known) or TEST_FILE.search(one.file))
    ]
    for edit in needed[:_MAX_IMPORTS]:
        text = f"{_shown(edit.file)} imports `{edit.name}`"
        yield _draft(features, edit, "DEPENDS_ON", EntityKey(PACKAGE, edit.name), text)


def _is_own(package: str, files: Iterable[str]) -> bool:
    """Return whether an imported package is a folder of the project, or lies in one.

    Go names such a package by the project and the folder: `example.com/shop/internal/money`.
    """
    folders = [file.rpartition("/")[0] for file in files]
    parts = {part for folder in folders for part in folder.split("/")}
    roots = {"/".join(folder.split("/")[:2]) for folder in folders if "/" in folder}
    return package in parts or any(f"/{root}/" in f"{package}/" for root in roots)


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


def _edits(features: TurnFeatures) -> list[_Edit]:
    found: list[_Edit] = []
    committed: set[int] = set()
    for call in features.calls:
        if not call.took_place:
            continue
        if call.kind in WRITE_KINDS:
            found += _of_call(features, call)
            for net in filter(lambda one: one.kind == NET, call.net):
                found = _with_net(found, features.paths.file(net.path), net, call)
        elif call.kind is CallKind.RUN and call.targets:
            for change in shell_commands.file_changes(call.targets[0]):
                if change.kind == shell_commands.RESTORED:
                    file = features.paths.file(change.path)
                    kept = (one for one in found if not _is_undone(one, file, change, committed))
                    found = [*kept]
                else:
                    found += _of_shell(features, change, call)
            if "git commit" in call.targets[0]:
                committed.update(id(edit.calls[-1]) for edit in found)
    return found


def _is_undone(edit: _Edit, file: str | None, change: EditedPart, committed: set[int]) -> bool:
    is_of_it = edit.file == file or change.path.rpartition("/")[2] == "."
    return is_of_it and id(edit.calls[-1]) not in committed


def _of_shell(features: TurnFeatures, change: EditedPart, call: ClassifiedCall) -> Iterator[_Edit]:
    file = features.paths.file(change.path)
    moved = features.paths.file(change.detail) if change.kind == RENAMED else ""
    if file is None or moved is None or _BUILT.search(file) or _UNTOLD.search(file):
        return
    yield _Edit(file, change._replace(detail=moved or change.detail), (call,))


def _with_net(
    found: list[_Edit], file: str | None, net: EditedPart, call: ClassifiedCall
) -> list[_Edit]:
    """Replace what several calls did to a file, one by one, by what they did together."""
    of_file = [edit.calls[0] for edit in found if edit.file == file]
    own = [one for one in of_file if _agent(one) == _agent(call)]
    calls = list(dict.fromkeys(own))[-int(net.name or 0) :]
    kept = [
        edit
        for edit in found
        if edit.file != file or edit.calls[0] not in calls or edit.name.startswith(NEEDS)
    ]
    if file is None or not calls:
        return found
    changes = [change for change in call.net if change.path == net.path and change.kind != NET]
    return [*kept, *_by_name(file, changes, tuple(calls))]


def _agent(call: ClassifiedCall) -> str | None:
    return call.run.agent_id if call.run else None


def _by_name(
    file: str, changes: Iterable[EditedPart], calls: tuple[ClassifiedCall, ...]
) -> Iterator[_Edit]:
    """Yield an edit of each definition: one may have changed in several ways."""
    details: dict[EditedPart, list[str]] = {}
    for change in changes:
        is_changed = change.kind == CHANGED
        key = change._replace(detail="") if is_changed else change
        details.setdefault(key, []).extend([change.detail] if is_changed else [])
    for change, told in details.items():
        first = (told or [change.detail])[0]
        yield _Edit(file, change._replace(detail=first), calls, tuple(dict.fromkeys(told)))


def _of_call(features: TurnFeatures, call: ClassifiedCall) -> Iterator[_Edit]:
    files = {path: features.paths.file(path) for path in call.targets}
    named = {change.path for change in call.changes}
    for path, file in files.items():
        if file is None or _UNTOLD.search(file):
            continue
        own = [change for change in call.changes if change.path in {"", path}]
        if not own or not named & {"", path}:
            is_new = call.kind is CallKind.CREATE and "updated" not in call.call.result[:200]
            own = [EditedPart(ADDED if is_new else CHANGED, "", _line_change(call))]
        packages = shell_commands.in_manifest(file, call.detail)
        own += [EditedPart(ADDED, f"{NEEDS}{package}") for package in packages]
        # The list of dependencies: each of them is a change of its own.
        own = [one for one in own if not (packages and one.name.endswith("dependencies"))]
        yield from _by_name(file, own, (call,))


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
        if edit.change.kind == DELETED and not edit.name:
            found = {one: value for one, value in found.items() if one[0] != edit.file}
        found[key] = edit if before is None else _joined(before, edit)
    return [edit for edit in found.values() if edit is not None]


def _joined(first: _Edit, second: _Edit) -> _Edit | None:
    """Return what two edits of the same definition did together; None: nothing."""
    calls = (*first.calls, *second.calls)
    kinds = first.change.kind, second.change.kind
    if kinds == (ADDED, DELETED):
        return None
    if kinds[0] in {ADDED, RENAMED, IMPORTED}:
        return replace(first, calls=calls)
    if kinds == (DELETED, ADDED):
        return _Edit(first.file, EditedPart(CHANGED, first.name), calls)
    if kinds[1] != CHANGED or not (first.told or second.told):
        return replace(second, calls=calls)
    details = edit_sentences.joined(first.details, second.details)
    return replace(second, calls=calls, details=details) if details else None


def _informative(edit: _Edit) -> int:
    """Return how much the details of a change say: more than that calls changed."""
    return max((3 if BECOMES in one else 1 for one in edit.told), default=0)


def _file_facts(features: TurnFeatures, file: str, edits: list[_Edit]) -> list[FactDraft]:
    whole = next((edit for edit in edits if not edit.name), None)
    if whole is not None and whole.change.kind != CHANGED:
        parts = [edit for edit in edits if edit.name and not _dependency(edit)]
        needed = [fact for edit in edits if edit not in parts for fact in _needed(features, edit)]
        return [*_whole_fact(features, whole, parts), *needed]
    if _TEXT_FILE.search(file):
        return _text_facts(features, file, edits)
    said = {edit.name: _sentence(features, edit.name, edit.calls) for edit in edits if edit.name}
    return [
        fact
        for one, others in _by_weight(edits, said)
        for fact in _definition_fact(features, one, others, said[one.name])
    ]


def _by_weight(edits: Iterable[_Edit], said: Mapping[str, str]) -> list[tuple[_Edit, list[_Edit]]]:
    """Return the most telling first; of many that changed alike one, and the others.

    What the agent itself says of a definition counts more than how much changed.
    """
    alike: dict[object, list[_Edit]] = defaultdict(list)
    for edit in edits:
        if edit.name:
            same = edit.details if edit.change.kind == CHANGED and edit.told else ()
            alike[same or edit.name].append(edit)
    groups = [
        [group] if len(group) >= _MANY else [[one] for one in group] for group in alike.values()
    ]
    return sorted(
        ((first, others) for group in groups for first, *others in group),
        key=lambda one: (
            one[0].change.kind == CHANGED and _informative(one[0]) == 0,
            bool(_TEST_NAME.search(one[0].name)),
            one[0].change.kind == CHANGED,
            not said[one[0].name],
            -_informative(one[0]),
        ),
    )


def _definition_fact(
    features: TurnFeatures, edit: _Edit, others: Sequence[_Edit], said: str
) -> Iterator[FactDraft]:
    change, file, name = edit.change, _shown(edit.file), edit.name
    if _dependency(edit):
        yield from _needed(features, edit)
        return
    target = EntityKey(definition_label(edit.file, name), name)
    if change.kind == RENAMED:
        target = EntityKey(target.label, change.detail)
    text = f"{file}: {edit_sentences.phrase(change)}{_added(edit) if change.kind == ADDED else ''}"
    if change.kind == CHANGED:
        text = _changed(edit, said)
    if text:
        names = [f"`{one.name}`" for one in others[:_SHOWN_NAMES]]
        rest = [f"{len(others) - len(names)} more"] if len(others) > len(names) else []
        text += f", and likewise {listed([*names, *rest])}" if others else ""
        yield _draft(features, edit, RELATIONS[change.kind], target, text)


def _added(edit: _Edit) -> str:
    if edit.value is not None:
        return f" (`{code(edit.value[1])}`)"
    doc = re.sub(rf"^{re.escape(edit.name)}:? (?:is (?:an? |the )?)?", "", edit.change.detail)
    return f": {doc}" if doc else ""


def _changed(edit: _Edit, said: str) -> str:
    """Return the sentence about a changed definition; empty: neither edit nor agent tell one."""
    is_version = _VERSION_NAME.fullmatch(edit.name) and edit.value is not None
    if is_version or (edit.details and not edit.told and any(edit.details)):
        return ""
    # Of a larger change the agent says more than two of its lines do.
    told = said if edit.value is None else ""
    told = told or edit_sentences.sentence(edit.name, edit.details)
    return f"{_shown(edit.file)}: {told}" if told else ""


def definition_label(file: str, name: str) -> str:
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
    if edit.value is not None and all(edit.value) and edit.change.kind == CHANGED:
        versions = [re.search(r"\d+(?:\.\d+)*", line.rpartition(":")[2]) for line in edit.value]
        was, now = (one[0] if one else "" for one in versions)
        if was.partition(".")[0] == now.partition(".")[0]:
            return
        text = f"{file}: `{package}` went from `{was}` to `{now}`"
        yield _draft(features, edit, "DEPENDS_ON", target, text)
        return
    line = f" (`{code(edit.value[1])}`)" if edit.value is not None and edit.value[1] else ""
    if edit.change.kind == DELETED:
        gone = EntityKey(SETTING, f"{NEEDS}{package}")
        yield _draft(features, edit, "DELETED", gone, f"{file} no longer depends on `{package}`")
    else:
        yield _draft(features, edit, "DEPENDS_ON", target, f"{file} depends on `{package}`{line}")


def _whole_fact(features: TurnFeatures, edit: _Edit, parts: Sequence[_Edit]) -> Iterator[FactDraft]:
    """Yield the fact about a file that is new, removed or moved.

    A note without a title has none.
    """
    change, file = edit.change, _shown(edit.file)
    itself = EntityKey(FILE, edit.file)
    if change.kind == RENAMED:
        text = f"`{edit.file}` was moved to `{change.detail}`"
        yield _draft(features, edit, "RENAMED", EntityKey(FILE, change.detail), text)
        return
    if change.kind == DELETED:
        yield _draft(features, edit, "DELETED", itself, f"`{edit.file}` was removed")
        return
    names = [part.name for part in parts if part.change.kind == ADDED]
    told = [part.change.detail for part in parts if part.name == change.detail]
    sentence = (
        ". ".join(filter(None, [change.detail, *told[:1]])) if BECOMES not in change.detail else ""
    )
    sentence = sentence or _sentence(features, edit.file.rpartition("/")[2], edit.calls)
    held = [name for name in names if name != change.detail][:_SHOWN_NAMES]
    is_text = bool(_TEXT_FILE.search(edit.file))
    if is_text and not (sentence or held):
        return
    quoted = [f"“{name}”" if is_text else f"`{name}`" for name in held]
    text = f"{file} was added" + (f": {sentence}" if sentence else "")
    holding = f" (with {listed(quoted)})" if quoted else ""
    text += holding or ("" if sentence else _first_line(edit.calls[0]))
    calls = tuple(dict.fromkeys(call for one in (edit, *parts) for call in one.calls))
    if names and not is_text:
        itself = EntityKey(definition_label(edit.file, names[0]), names[0])
    yield _draft(features, replace(edit, calls=calls), "ADDED", itself, text)


def _text_facts(features: TurnFeatures, file: str, edits: list[_Edit]) -> list[FactDraft]:
    """Return the fact about a document: what its sections say now, and which are gone."""
    calls = tuple(dict.fromkeys(call for edit in edits for call in edit.calls))
    told = {edit.name: text for edit in edits if (text := _section_says(edit))}
    shown = [*told.values()][:_SECTIONS]
    for kind, verb in ((ADDED, "added"), (DELETED, "removed")):
        left = [one.name for one in edits if one.change.kind == kind and one.name]
        names = [f"“{name}”" for name in left if told.get(name) not in shown]
        were = "were" if len(names) > 1 else "was"
        shown += [f"{listed(names[:_SHOWN_NAMES])} {were} {verb}"] if names else []
    if not shown:
        return []
    sentence = "" if told else _sentence(features, file.rpartition("/")[2], calls)
    text = f"{_shown(file)}: {'; '.join(shown)}" + (f". {sentence}" if sentence else "")
    merged = _Edit(file, EditedPart(CHANGED, ""), calls)
    return [_draft(features, merged, "CHANGED", EntityKey(FILE, file), text)]


def _section_says(edit: _Edit) -> str:
    """Return what a section of a document says now; empty: only its name is known."""
    section = f"“{edit.name}”" if edit.name else ""
    if edit.change.kind == ADDED:
        says = edit.change.detail.rstrip(":")
        return f"{section} was added: {says}" if says else ""
    if edit.change.kind != CHANGED:
        return ""
    if edit.value is not None and all(edit.value):
        text = edit_sentences.value_change(edit.name, *edit.value)
        return text.replace(f"`{edit.name}`", section) if edit.name else text.partition(", ")[2]
    lines = (one.rpartition(BECOMES)[2] for one in edit.told if BECOMES in one)
    line = next((plain for one in lines if (plain := edit_sentences.prose_line(one))), "")
    return f"{section} now says “{line}”".strip() if line else ""


def _vague_facts(features: TurnFeatures, edits: Sequence[_Edit]) -> Iterator[FactDraft]:
    """Yield the fact about a file of which no definition tells what changed.

    There is none if no line of the change is known, or only comments, layout or a version changed.
    """
    file = edits[0].file
    calls = tuple(dict.fromkeys(call for edit in edits for call in edit.calls))
    text = _sentence(features, file.rpartition("/")[2], calls)
    if not (text or _TEXT_FILE.search(file) or any(edit.name for edit in edits)):
        lines = [one.partition(BECOMES)[::2] for edit in edits for one in edit.told]
        told = [edit_sentences.whole_line(*one) for one in lines[:_MAX_OF_LINES] if any(one)]
        text = "; ".join(told)
    if text:
        merged = _Edit(file, EditedPart(CHANGED, ""), calls)
        text = f"{_shown(file)}: {text}"
        yield _draft(features, merged, "CHANGED", EntityKey(FILE, file), text)


def _first_line(call: ClassifiedCall) -> str:
    """Return in brackets what a call wrote first, unless that is a comment."""
    _, _, added = f" {call.detail}".partition(" + ")
    change = prose.shorten(added or call.detail, 140)
    return f" (`{code(change)}`)" if change and not _COMMENT.match(change) else ""


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
    values = _lines(edit) if relation == RELATIONS[CHANGED] else {}
    source = EntityKey(FILE, edit.file)
    draft = FactDraft(rank, source, relation, target, text, at, attributes=values)
    return by_its_agent(draft, edit.calls)


def _lines(edit: _Edit) -> Mapping[str, str]:
    """Return the lines before and after, by which a later edit is known to take them back."""
    pairs = [one.partition(BECOMES)[::2] for one in edit.told if BECOMES in one]
    sides = (sorted(filter(None, side)) for side in zip(*pairs, strict=True))
    return {
        name: "\n".join(map(code, side)) for name, side in zip((BEFORE, AFTER), sides, strict=False)
    }
