"""Settings to open things: filters, redactor, graph, embedder, extractor."""

import getpass
import os
import platform
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from turnetl import formats, noise
from turnetl.episodes import Filters
from turnetl.errors import BadUsage
from turnetl.extraction.port import Extractor
from turnetl.extraction.steering import Steering
from turnetl.extraction.structural import StructuralExtractor
from turnetl.extraction.templates import TemplateResolver, folders
from turnetl.formats.base import Format
from turnetl.graph import open as graphs
from turnetl.graph.port import GraphStore
from turnetl.ingest.group import Tools
from turnetl.lake import Lake
from turnetl.llm.chat import Model
from turnetl.llm.embedders import WordLlamaEmbedder
from turnetl.llm.http import Timeouts
from turnetl.llm.limiter import Limiter
from turnetl.llm.models import open_model
from turnetl.llm.port import Embedder
from turnetl.llm.retry import Patience
from turnetl.llm.stack import Shared, stacked
from turnetl.model import GroupId
from turnetl.parse.grouping import Grouping, grouping
from turnetl.redact import Redactor
from turnetl.settings import Settings


def check(settings: Settings) -> None:
    """See that graph, model and filters are named as they must be, before any work is done.

    Raises:
        BadUsage: they are not; says what is missing or wrong.
    """
    graphs.check(settings.graph_url)
    filters(settings)
    if settings.extractor_name != "structural":
        _model(settings)


def groups(settings: Settings) -> Grouping:
    """Return how the groups of turns are found.

    Raises:
        BadUsage: a template or a map file that makes no sense; says where and what to do.
    """
    return grouping(settings.group, settings.group_map, user=_user(), host=platform.node())


def named(format_name: str | None) -> Format | None:
    """Return the format of that name, None for no name.

    Raises:
        BadUsage: there is none; says which there are.
    """
    if format_name is None:
        return None
    if found := formats.named(format_name):
        return found
    known = ", ".join(one.name for one in formats.KNOWN)
    raise BadUsage(f"there is no format `{format_name}`; there are: {known}")


def jobs(settings: Settings) -> int:
    """Return how many archives are read side by side: as many as we may use cores, by default."""
    if settings.jobs is not None:
        return settings.jobs
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def redactor(settings: Settings) -> Redactor:
    return Redactor(personal=settings.redact_personal)


def filters(settings: Settings, *, by_hand: bool = False) -> Filters:
    """Return which turns are noise, and what texts leave out.

    Args:
        settings: rules by name, a file of rules, and the template with its patterns.
        by_hand: said for this run alone.

    Raises:
        BadUsage: a rule that is not there, a file of rules or a template that makes no sense.
    """
    chosen, template = settings.noise, settings.extraction.preprocessor(_templates())
    return Filters(
        rules=noise.chosen(chosen.keep, chosen.drop, _own_rules(settings)),
        patterns=template.noise_patterns if template is not None else (),
        by_hand=by_hand,
    )


def rules(settings: Settings) -> tuple[noise.Rule, ...]:
    """Return all noise rules that there are, on and off, in the order in which they name a turn.

    Raises:
        BadUsage: the person's own file cannot be read, or a rule of it makes no sense.
    """
    return noise.known(_own_rules(settings))


def rule(settings: Settings, name: str) -> noise.Rule:
    """Return the noise rule of that name.

    Raises:
        BadUsage: there is none; says which there are.
    """
    return noise.named(name, _own_rules(settings))


@asynccontextmanager
async def tools(settings: Settings) -> AsyncIterator[Tools]:
    """Open what an ingest needs, the graph for writing, and close it afterwards."""
    used = embedder()
    async with store(settings, write=True) as graph:
        extracts = extractor(settings, used)
        try:
            await graph.prepare()
            yield Tools(Lake(settings.lake), graph, extracts, used, settings.context_turns)
        finally:
            await extracts.close()


@asynccontextmanager
async def store(settings: Settings, *, write: bool) -> AsyncIterator[GraphStore]:
    """Open the graph, and close it afterwards."""
    password = settings.graph_password
    graph = await graphs.open_graph(
        settings.graph_url,
        user=settings.graph_user,
        password=password.get_secret_value() if password else "",
        write=write,
    )
    try:
        yield graph
    finally:
        await graph.close()


def embedder() -> Embedder:
    return WordLlamaEmbedder()


def extractor(settings: Settings, used: Embedder) -> Extractor[Any]:
    """Return the extractor that the settings name."""
    match settings.extractor_name:
        case "structural":
            return StructuralExtractor()
        case "llm":
            return _llm(settings, used)
        case "both":
            from turnetl.extraction.both import BothExtractor  # noqa: PLC0415 - brings graphiti

            return BothExtractor(StructuralExtractor(), _llm(settings, used))


def recipe(settings: Settings) -> Callable[[GroupId, str], str] | None:
    """Return how turns of a group and kind would be extracted today.

    None if the model is not fully named.
    """
    try:
        return extractor(settings, embedder()).recipe
    except BadUsage:
        return None


def _own_rules(settings: Settings) -> tuple[noise.Rule, ...]:
    return noise.read(settings.noise.rules) if settings.noise.rules is not None else ()


def _user() -> str:
    """Return who runs this; a container may know nobody."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "nobody"


def _llm(settings: Settings, used: Embedder) -> Extractor[Any]:
    model = _model(settings)
    from turnetl.extraction.llm import LlmExtractor  # noqa: PLC0415 - brings graphiti

    return LlmExtractor(model, used, steering=Steering(settings.extraction, _templates()))


def _templates() -> TemplateResolver:
    return TemplateResolver(folders(Path.cwd(), Path.home()))


def _model(settings: Settings) -> Model:
    if settings.llm.provider == "none":
        raise BadUsage(
            "the `llm` extractor needs a model: set TURNETL_LLM__PROVIDER, TURNETL_LLM__MODEL and "
            "TURNETL_LLM__API_KEY, or use --extractor structural"
        )
    chosen = settings.llm
    base = open_model(
        chosen.provider,
        model=chosen.model,
        base_url=chosen.base_url,
        api_key=chosen.api_key.get_secret_value() if chosen.api_key else None,
        timeouts=Timeouts(answer=chosen.timeout_seconds),
    )
    limiter = Limiter(chosen.requests_per_minute, chosen.tokens_per_minute, chosen.at_once)
    return stacked(base, Shared(None, None, Patience(), limiter, None))
