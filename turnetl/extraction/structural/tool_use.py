"""What a turn's other calls did: files written, servers, skills and sites turned to."""

import re
from collections import defaultdict
from collections.abc import Iterator

from turnetl.extraction.structural import packages, prose
from turnetl.extraction.structural.calls import CallKind, ClassifiedCall
from turnetl.extraction.structural.findings import FILE, PACKAGE, TOOL, EntityKey, FactDraft
from turnetl.extraction.structural.turn_context import TurnContext

_EDIT, _PACKAGE, _USE = 5, 6, 11
_HOST = re.compile(r"^https?://(?:www\.)?([\w.-]{3,80})(/[^\s?#]{0,100})?")


def written(scene: TurnContext) -> Iterator[FactDraft]:
    """Yield a sentence for each file that was written, and for packages seen coming in."""
    calls: dict[str, list[ClassifiedCall]] = defaultdict(list)
    for call in scene.calls:
        if call.kind in {CallKind.EDIT, CallKind.CREATE} and not call.of.is_error:
            for path in call.targets:
                calls[scene.project.file(path) or ""].append(call)
    for name in scene.edited:
        yield _edit(scene, name, calls[name])
        for call in calls[name]:
            for package in packages.written(name, call.detail):
                text = f"`{package}` was added as a dependency in `{name}`"
                yield FactDraft(
                    _PACKAGE, EntityKey(PACKAGE, package), "ADDED", scene.hub, text, scene.at(call)
                )


def _edit(scene: TurnContext, name: str, calls: list[ClassifiedCall]) -> FactDraft:
    file = EntityKey(FILE, name)
    created = any(call.kind is CallKind.CREATE for call in calls)
    did = "written" if created else "edited"
    sentence = scene.sentence_about(name)
    why = prose.shorten(sentence, 260) if sentence else prose.shorten(scene.gist, 160)
    change = max((_first_came(call.detail) for call in calls), key=lambda c: (len(c), c))
    text = f"`{name}` was {did}: {why}" if sentence else f"`{name}` was {did} when asked: {why}"
    if change and not sentence:
        text = f"{text} (`{change}`)"
    at = min((at for call in calls if (at := scene.at(call))), default=scene.turn.started_at)
    target = scene.spoken_of(sentence, file) if sentence else scene.subject
    target = target if target != file else scene.hub
    return FactDraft(_EDIT, file, "CREATED" if created else "MODIFIED", target, text, at)


def _first_came(change: str) -> str:
    came = change[:2000].partition("+ ")[2] if "+ " in change[:2000] else ""
    return prose.shorten(came.replace("`", "'"), 80)


def used(scene: TurnContext) -> Iterator[FactDraft]:
    """Yield a sentence for each server, skill and site that the agent turned to."""
    servers: dict[str, set[str]] = defaultdict(set)
    for call in scene.calls:
        at, about = scene.at(call), scene.subject
        match call.kind:
            case _ if not call.targets or call.of.is_error:
                continue
            case CallKind.SERVER:
                servers[prose.shorten(call.targets[0], 60)].add(call.detail)
            case CallKind.SKILL:
                skill = prose.shorten(call.targets[0], 60)
                yield FactDraft(
                    _USE, EntityKey(TOOL, skill), "USED", about, f"The skill `{skill}` was used", at
                )
            case CallKind.SEARCH:
                text = f"The web was searched for: {prose.shorten(call.targets[0], 200)}"
                yield FactDraft(_USE, EntityKey(TOOL, "web search"), "USED", about, text, at)
            case CallKind.FETCH:
                yield from _fetched(scene, call)
    for server, names in servers.items():
        text = f"`{server}` was used: {', '.join(f'`{name}`' for name in sorted(names)[:6])}"
        yield FactDraft(
            _USE, EntityKey(TOOL, server), "USED", scene.subject, text, scene.turn.started_at
        )


def _fetched(scene: TurnContext, call: ClassifiedCall) -> Iterator[FactDraft]:
    site = _HOST.match(call.targets[0][:300])
    if site:
        page = f"{site.group(1)}{site.group(2) or ''}".rstrip("/")
        why = prose.shorten(prose.plain(call.detail[:1000]), 160)
        text = f"`{page}` was read" + (f" to learn: {why}" if why else "")
        yield FactDraft(
            _USE, EntityKey(TOOL, site.group(1)), "USED", scene.subject, text, scene.at(call)
        )
