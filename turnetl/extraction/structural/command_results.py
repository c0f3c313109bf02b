"""Facts about the tools that a turn used: MCP servers, skills, web searches and pages."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime

from turnetl.extraction.structural import prose
from turnetl.extraction.structural.findings import TOOL, EntityKey, FactDraft
from turnetl.extraction.structural.tool_calls import CallKind, ClassifiedCall, by_its_agent
from turnetl.extraction.structural.turn_features import TurnFeatures

_USE_RANK = 11
_URL = re.compile(r"^https?://(?:www\.)?([\w.-]{3,80})(/[^\s?#]{0,100})?")


def tool_facts(features: TurnFeatures) -> Iterator[FactDraft]:
    """Yield a fact for each MCP server, skill, web search and web page that the agent used."""
    servers: dict[str, list[ClassifiedCall]] = defaultdict(list)
    for call in features.calls:
        at = features.at(call)
        match call.kind:
            case _ if not call.targets or call.call.is_error:
                continue
            case CallKind.MCP:
                servers[prose.shorten(call.targets[0], 60)].append(call)
            case CallKind.SKILL:
                skill = prose.shorten(call.targets[0], 60)
                yield _use(features, skill, f"The skill `{skill}` was used", at, [call])
            case CallKind.SEARCH:
                text = f"The web was searched for: {prose.shorten(call.targets[0], 200)}"
                yield _use(features, "web search", text, at, [call])
            case CallKind.FETCH:
                yield from _fetch_facts(features, call)
    for server, calls in servers.items():
        names = sorted({call.detail for call in calls})[:6]
        text = f"`{server}` was used: {', '.join(f'`{name}`' for name in names)}"
        yield _use(features, server, text, features.turn.started_at, calls)


def _use(
    features: TurnFeatures,
    name: str,
    text: str,
    at: datetime | None,
    calls: Sequence[ClassifiedCall],
) -> FactDraft:
    tool = EntityKey(TOOL, name)
    draft = FactDraft(_USE_RANK, tool, "USED", features.subject_beside(tool), text, at)
    return by_its_agent(draft, calls)


def _fetch_facts(features: TurnFeatures, call: ClassifiedCall) -> Iterator[FactDraft]:
    url = _URL.match(call.targets[0][:300])
    if url:
        page = f"{url.group(1)}{url.group(2) or ''}".rstrip("/")
        why = prose.shorten(prose.plain(call.detail[:1000]), 160)
        text = f"`{page}` was read" + (f" to learn: {why}" if why else "")
        yield _use(features, url.group(1), text, features.at(call), [call])
