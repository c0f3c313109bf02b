"""The extractor that the settings name, and what it is steered with."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from turnetl.episodes import chunking
from turnetl.episodes.classify import KINDS
from turnetl.errors import BadUsage, TurnetlError
from turnetl.extraction import ontology
from turnetl.extraction.config import TEMPLATE_ENDING, slip
from turnetl.extraction.port import Extractor
from turnetl.extraction.prompt_config import PromptConfigs
from turnetl.extraction.structural import StructuralExtractor
from turnetl.extraction.templates import TemplateResolver, folders
from turnetl.llm.chat import ChatModel
from turnetl.llm.check_result import CheckResult
from turnetl.llm.embedders import WordLlamaEmbedder
from turnetl.llm.port import Embedder
from turnetl.llm.stack import ModelStack
from turnetl.model import GroupId, Usage
from turnetl.settings import Settings
from turnetl.wiring import models


def templates() -> TemplateResolver:
    """Return where templates are found: the project's, the person's, the built-in ones."""
    return TemplateResolver(folders(Path.cwd(), Path.home()))


def extractor(settings: Settings, used: Embedder, around: ModelStack | None) -> Extractor[Any]:
    """Return the extractor that the settings name.

    Args:
        settings: which extractor, model and templates.
        used: the embedder of the graph.
        around: what stands around a model's calls; None if it will not be asked.

    Raises:
        BadUsage: the model is not fully named, or a template cannot be used.
    """
    match settings.extractor_name:
        case "structural":
            return StructuralExtractor()
        case "llm":
            return _llm(settings, used, models.model(settings, around))
        case "hybrid":
            from turnetl.extraction.hybrid import HybridExtractor  # noqa: PLC0415 - brings graphiti

            asked = _llm(settings, used, models.model(settings, around))
            return HybridExtractor(StructuralExtractor(), asked)


def recipe(settings: Settings) -> Callable[[GroupId, str], str] | None:
    """Return how turns of a group and kind would be extracted today.

    None if the model is not fully named.

    Raises:
        BadUsage: an ontology that cannot be used: what is stale could not be told.
    """
    if settings.extractor_name != "structural":
        ontology.load(settings.extraction.ontology, templates())
    # No recipe hangs on the embedder: the group's profile names it.
    try:
        return extractor(settings, WordLlamaEmbedder(), None).recipe
    except BadUsage:
        return None


async def checked(settings: Settings, around: ModelStack) -> Sequence[CheckResult]:
    """Ask the model one question of each kind that a run asks, and an embedder that is not ours.

    Raises:
        BadUsage: the model is not fully named.
        ModelRefused: a person must act first.
        ModelBusy: no answer.
    """
    from turnetl.extraction import probes  # noqa: PLC0415 - brings graphiti
    from turnetl.llm import check  # noqa: PLC0415 - as above

    kinds = ontology.load(settings.extraction.ontology, templates())
    steer = PromptConfigs(settings.extraction, templates()).of(GroupId(""))
    asked = models.model(settings, around)
    try:
        found = await check.check(
            asked,
            things=kinds.entity_types,
            facts=kinds.edge_types,
            instructions=steer.instructions,
            more=probes.of_reflexion() if steer.reflexion else (),
        )
    finally:
        await asked.close()
    return (*found, *await _embedder(settings, around))


async def _embedder(settings: Settings, around: ModelStack) -> Sequence[CheckResult]:
    if settings.embedder.provider == "local":
        return ()
    async with models.embedder(settings, around.patience) as used:
        try:
            await used.embed(["a text of some words"])
        except TurnetlError as error:
            return (CheckResult("embeddings", used.name, str(error), Usage(calls=1, cost=None)),)
        return (CheckResult("embeddings", used.name, "", Usage(calls=1, cost=None)),)


def check(settings: Settings, once: str | None = None) -> None:
    """See that every template that is named can be used.

    Args:
        settings: with what is said for this run.
        once: what was said of preprocessing for this run alone: a template that is not there or
            holds nothing is then a slip, and no run shall be paid for without it.

    Raises:
        BadUsage: one cannot be used; says which, where and why.
    """
    said = settings.extraction.preprocessing_prompt
    if once is not None and isinstance(said, str):
        _not_a_slip(said)
    ontology.load(settings.extraction.ontology, templates())
    steering = PromptConfigs(settings.extraction, templates())
    for group in ("", *settings.extraction.groups):
        for kind in ("", *KINDS):
            steering.of(GroupId(group), kind)


def reader(settings: Settings) -> Callable[[ChatModel, Embedder], Extractor[Any]]:
    """Return what makes the extractor that asks a model, with a model and an embedder of one's own.

    Raises:
        BadUsage: a template cannot be used.
    """
    return lambda asked, used: _llm(settings, used, asked)


def _not_a_slip(said: str) -> None:
    if said.endswith(TEMPLATE_ENDING):
        templates().read(said)
    elif wrong := slip(said):
        raise BadUsage(wrong)


def _llm(settings: Settings, used: Embedder, asked: ChatModel) -> Extractor[Any]:
    from turnetl.extraction.llm import LlmExtractor  # noqa: PLC0415 - brings graphiti

    return LlmExtractor(
        asked,
        used,
        steering=PromptConfigs(settings.extraction, templates()),
        ontology=ontology.load(settings.extraction.ontology, templates()),
        halve=chunking.split_in_half,
        parameters=settings.llm.effort or "",
    )
