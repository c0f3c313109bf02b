"""Facts from the tool calls of a turn: commits, packages, written files, other tools."""

import re
from collections import defaultdict
from collections.abc import Iterator

from turnetl.extraction.structural import prose, shell_commands
from turnetl.extraction.structural.findings import (
    COMMAND,
    FILE,
    PACKAGE,
    EntityKey,
    FactDraft,
)
from turnetl.extraction.structural.shell_commands import ShellCommand
from turnetl.extraction.structural.tool_calls import CallKind, ClassifiedCall, by_its_agent
from turnetl.extraction.structural.turn_features import TurnFeatures

_COMMIT_RANK, _PACKAGE_RANK = 3, 6
_HEREDOC_MESSAGE = re.compile(r"<<-?\s?['\"]?([A-Z]{2,10})['\"]?\s{1,20}(\S[^\n]{2,300})(?:\n|$)")
_MESSAGE = re.compile(
    r"\s(?:-a?m|--message|--title|-t)[ =]\s{0,3}(?:\"((?!\$\()(?:[^\"\\]|\\.){3,600})"
    r"|'([^']{3,600}))"
)
_TRAILER = re.compile(r"(?:\s{2,}|🤖|Co-Authored-By|\bEOF\b).*$", re.DOTALL)
_RECORDING_COMMANDS = {"git commit": "Committed", "gh pr create": "Opened a pull request"}


def command_findings(features: TurnFeatures) -> Iterator[FactDraft]:
    """Yield the facts about commits and installed packages."""
    yield from _commit_facts(features)
    for call in features.calls:
        if call.kind is CallKind.RUN and call.targets and not call.call.is_error:
            for command in shell_commands.commands(call.targets[0]):
                yield from _package_facts(features, call, command)


def _package_facts(
    features: TurnFeatures, call: ClassifiedCall, command: ShellCommand
) -> Iterator[FactDraft]:
    for package in shell_commands.installed_packages(command):
        verb = "added as a dependency" if shell_commands.is_dependency(command) else "installed"
        text = f"`{package}` was {verb} with `{command.line}`"
        source = EntityKey(PACKAGE, package)
        at = features.at(call)
        draft = FactDraft(_PACKAGE_RANK, source, "ADDED", features.project, text, at)
        yield by_its_agent(draft, [call])


def _commit_facts(features: TurnFeatures) -> Iterator[FactDraft]:
    """Yield the messages of commits and the titles of pull requests."""
    for call in features.calls:
        if call.kind is not CallKind.RUN or not call.targets or call.call.is_error:
            continue
        shell = call.targets[0][:6000]
        for name, verb in _RECORDING_COMMANDS.items():
            start = shell.find(name)
            message = _message(shell[start + len(name) - 1 :]) if start >= 0 else ""
            if message:
                source = EntityKey(COMMAND, name)
                target = features.entity_in(message, source)
                text = f"{verb}: {message}"
                at = features.at(call)
                draft = FactDraft(_COMMIT_RANK, source, "RECORDED", target, text, at)
                yield by_its_agent(draft, [call])


def _message(arguments: str) -> str:
    quoted = _MESSAGE.search(arguments[:2000])
    if quoted:
        message = quoted.group(1) or quoted.group(2)
    else:
        heredoc = _HEREDOC_MESSAGE.search(arguments[:2000])
        message = heredoc.group(2) if heredoc else ""
    first_line = message.strip().split("\n")[0]
    return prose.shorten(_TRAILER.sub("", first_line), 200)


_EDIT_RANK, _MANIFEST_RANK = 5, 6


def file_change_facts(features: TurnFeatures) -> Iterator[FactDraft]:
    """Yield a fact for each written file, and one for each package added to a manifest."""
    calls: dict[str, list[ClassifiedCall]] = defaultdict(list)
    for call in features.calls:
        if call.kind in {CallKind.EDIT, CallKind.CREATE} and not call.call.is_error:
            for path in call.targets:
                calls[features.paths.file(path) or ""].append(call)
    for name in features.edited_files:
        yield by_its_agent(_file_change(features, name, calls[name]), calls[name])
        for call in calls[name]:
            for package in shell_commands.in_manifest(name, call.detail):
                text = f"`{package}` was added as a dependency in `{name}`"
                source = EntityKey(PACKAGE, package)
                at = features.at(call)
                draft = FactDraft(_MANIFEST_RANK, source, "ADDED", features.project, text, at)
                yield by_its_agent(draft, [call])


def _file_change(features: TurnFeatures, name: str, calls: list[ClassifiedCall]) -> FactDraft:
    file = EntityKey(FILE, name)
    is_created = any(call.kind is CallKind.CREATE for call in calls)
    verb = "written" if is_created else "edited"
    sentence = features.sentence_about(name, calls)
    why = prose.shorten(sentence, 260) if sentence else prose.shorten(features.prompt_summary, 160)
    change = max((_first_added(call.detail) for call in calls), key=lambda c: (len(c), c))
    text = f"`{name}` was {verb}: {why}" if sentence else f"`{name}` was {verb} when asked: {why}"
    if change and not sentence:
        text = f"{text} (`{change}`)"
    at = min((at for call in calls if (at := features.at(call))), default=features.turn.started_at)
    target = features.entity_in(sentence, file) if sentence else features.subject_beside(file)
    return FactDraft(_EDIT_RANK, file, "CREATED" if is_created else "MODIFIED", target, text, at)


def _first_added(change: str) -> str:
    added = change[:2000].partition("+ ")[2] if "+ " in change[:2000] else ""
    return prose.shorten(added.replace("`", "'"), 80)
