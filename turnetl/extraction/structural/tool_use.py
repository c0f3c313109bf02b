"""Facts from calls other than commands: written files, MCP servers, skills, web pages."""

import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime

from turnetl.extraction.structural import prose, shell_commands
from turnetl.extraction.structural.findings import FILE, PACKAGE, TOOL, EntityKey, FactDraft
from turnetl.extraction.structural.tool_calls import CallKind, ClassifiedCall
from turnetl.extraction.structural.turn_features import TurnFeatures

_EDIT_RANK, _PACKAGE_RANK, _USE_RANK = 5, 6, 11
_URL = re.compile(r"^https?://(?:www\.)?([\w.-]{3,80})(/[^\s?#]{0,100})?")


def file_change_facts(features: TurnFeatures) -> Iterator[FactDraft]:
    """Yield a fact for each written file, and one for each package added to a manifest."""
    calls: dict[str, list[ClassifiedCall]] = defaultdict(list)
    for call in features.calls:
        if call.kind in {CallKind.EDIT, CallKind.CREATE} and not call.call.is_error:
            for path in call.targets:
                calls[features.paths.file(path) or ""].append(call)
    for name in features.edited_files:
        yield _file_change(features, name, calls[name])
        for call in calls[name]:
            for package in shell_commands.in_manifest(name, call.detail):
                text = f"`{package}` was added as a dependency in `{name}`"
                source = EntityKey(PACKAGE, package)
                at = features.at(call)
                yield FactDraft(_PACKAGE_RANK, source, "ADDED", features.project, text, at)


def _file_change(features: TurnFeatures, name: str, calls: list[ClassifiedCall]) -> FactDraft:
    file = EntityKey(FILE, name)
    is_created = any(call.kind is CallKind.CREATE for call in calls)
    verb = "written" if is_created else "edited"
    sentence = features.sentence_about(name)
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


def tool_facts(features: TurnFeatures) -> Iterator[FactDraft]:
    """Yield a fact for each MCP server, skill, web search and web page that the agent used."""
    servers: dict[str, set[str]] = defaultdict(set)
    for call in features.calls:
        at = features.at(call)
        match call.kind:
            case _ if not call.targets or call.call.is_error:
                continue
            case CallKind.MCP:
                servers[prose.shorten(call.targets[0], 60)].add(call.detail)
            case CallKind.SKILL:
                skill = prose.shorten(call.targets[0], 60)
                yield _use(features, skill, f"The skill `{skill}` was used", at)
            case CallKind.SEARCH:
                text = f"The web was searched for: {prose.shorten(call.targets[0], 200)}"
                yield _use(features, "web search", text, at)
            case CallKind.FETCH:
                yield from _fetch_facts(features, call)
    for server, names in servers.items():
        text = f"`{server}` was used: {', '.join(f'`{name}`' for name in sorted(names)[:6])}"
        yield _use(features, server, text, features.turn.started_at)


def _use(features: TurnFeatures, name: str, text: str, at: datetime | None) -> FactDraft:
    tool = EntityKey(TOOL, name)
    return FactDraft(_USE_RANK, tool, "USED", features.subject_beside(tool), text, at)


def _fetch_facts(features: TurnFeatures, call: ClassifiedCall) -> Iterator[FactDraft]:
    url = _URL.match(call.targets[0][:300])
    if url:
        page = f"{url.group(1)}{url.group(2) or ''}".rstrip("/")
        why = prose.shorten(prose.plain(call.detail[:1000]), 160)
        text = f"`{page}` was read" + (f" to learn: {why}" if why else "")
        yield _use(features, url.group(1), text, features.at(call))
