"""What a turn's other calls did: files written, servers, skills and sites turned to."""

import re
from collections import defaultdict
from collections.abc import Iterator

from turnetl.extraction.structural import packages, prose
from turnetl.extraction.structural.calls import Call, Kind
from turnetl.extraction.structural.findings import FILE, PACKAGE, TOOL, Said, Thing
from turnetl.extraction.structural.turn_context import Scene

_EDIT, _PACKAGE, _USE = 5, 6, 11
_HOST = re.compile(r"^https?://(?:www\.)?([\w.-]{3,80})(/[^\s?#]{0,100})?")


def written(scene: Scene) -> Iterator[Said]:
    """Yield a sentence for each file that was written, and for packages seen coming in."""
    calls: dict[str, list[Call]] = defaultdict(list)
    for call in scene.calls:
        if call.kind in {Kind.EDIT, Kind.CREATE} and not call.of.is_error:
            for path in call.targets:
                calls[scene.project.file(path) or ""].append(call)
    for name in scene.edited:
        yield _edit(scene, name, calls[name])
        for call in calls[name]:
            for package in packages.written(name, call.detail):
                text = f"`{package}` was added as a dependency in `{name}`"
                yield Said(
                    _PACKAGE, Thing(PACKAGE, package), "ADDED", scene.hub, text, scene.at(call)
                )


def _edit(scene: Scene, name: str, calls: list[Call]) -> Said:
    file = Thing(FILE, name)
    created = any(call.kind is Kind.CREATE for call in calls)
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
    return Said(_EDIT, file, "CREATED" if created else "MODIFIED", target, text, at)


def _first_came(change: str) -> str:
    came = change[:2000].partition("+ ")[2] if "+ " in change[:2000] else ""
    return prose.shorten(came.replace("`", "'"), 80)


def used(scene: Scene) -> Iterator[Said]:
    """Yield a sentence for each server, skill and site that the agent turned to."""
    servers: dict[str, set[str]] = defaultdict(set)
    for call in scene.calls:
        at, about = scene.at(call), scene.subject
        match call.kind:
            case _ if not call.targets or call.of.is_error:
                continue
            case Kind.SERVER:
                servers[prose.shorten(call.targets[0], 60)].add(call.detail)
            case Kind.SKILL:
                skill = prose.shorten(call.targets[0], 60)
                yield Said(
                    _USE, Thing(TOOL, skill), "USED", about, f"The skill `{skill}` was used", at
                )
            case Kind.SEARCH:
                text = f"The web was searched for: {prose.shorten(call.targets[0], 200)}"
                yield Said(_USE, Thing(TOOL, "web search"), "USED", about, text, at)
            case Kind.FETCH:
                yield from _fetched(scene, call)
    for server, names in servers.items():
        text = f"`{server}` was used: {', '.join(f'`{name}`' for name in sorted(names)[:6])}"
        yield Said(_USE, Thing(TOOL, server), "USED", scene.subject, text, scene.turn.started_at)


def _fetched(scene: Scene, call: Call) -> Iterator[Said]:
    site = _HOST.match(call.targets[0][:300])
    if site:
        page = f"{site.group(1)}{site.group(2) or ''}".rstrip("/")
        why = prose.shorten(prose.plain(call.detail[:1000]), 160)
        text = f"`{page}` was read" + (f" to learn: {why}" if why else "")
        yield Said(_USE, Thing(TOOL, site.group(1)), "USED", scene.subject, text, scene.at(call))
