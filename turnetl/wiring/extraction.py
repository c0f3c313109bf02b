"""The configured extractor, with its templates and ontology."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from turnetl.base.errors import BadUsage, TurnetlError
from turnetl.base.ids import RecipeParts
from turnetl.base.model import GroupId, Usage
from turnetl.base.progress import Progress, ProgressUpdate, ignore_progress
from turnetl.episodes.filters import KINDS
from turnetl.extraction import ontology
from turnetl.extraction.config import TEMPLATE_SUFFIX, PromptConfigs, prompt_warning
from turnetl.extraction.structural import structural_recipe
from turnetl.settings import CONFIGURE_MODEL, Settings, model_intent
from turnetl.wiring.template_files import templates

if TYPE_CHECKING:  # a run without new turns does without these
    from turnetl.extraction.llm import LlmExtractor
    from turnetl.extraction.port import Extractor
    from turnetl.llm.chat import ChatModel
    from turnetl.llm.checks import CheckResult, ModelCheck
    from turnetl.llm.embedders import Embedder
    from turnetl.llm.stack import ModelStack


def extractor(
    settings: Settings, embedder: "Embedder", model: "ChatModel | None"
) -> "Extractor[Any]":
    """Return the configured extractor, which closes the model; it is None if none is used."""
    if model is None:
        from turnetl.extraction.structural import StructuralExtractor

        return StructuralExtractor()
    return extractor_over(settings)(model, embedder)


def recipe(settings: Settings) -> Callable[[GroupId, str], RecipeParts] | None:
    """Return the function from group and kind of turn to the recipe that a run would use today.

    None if the model is not fully configured. Creates no extractor: that of a model imports
    Graphiti.

    Raises:
        BadUsage: the ontology is not valid, so stale turns cannot be detected.
    """
    if not settings.uses_model:
        return lambda _group, _kind: structural_recipe()
    from turnetl.extraction.hybrid import hybrid_recipe
    from turnetl.extraction.llm import llm_recipe
    from turnetl.wiring import clients

    kinds = ontology.load(settings.extraction.ontology, templates())
    try:
        model = clients.model(settings).name
        prompts = PromptConfigs(settings.extraction, templates())
    except BadUsage:
        return None

    def of_model(group: GroupId, kind: str) -> RecipeParts:
        return llm_recipe(model, settings.llm.effort or "", prompts.for_turn(group, kind), kinds)

    if settings.extractor_name == "llm":
        return of_model
    return lambda group, kind: hybrid_recipe(structural_recipe(), of_model(group, kind))


def extractor_over(
    settings: Settings, prompts: PromptConfigs | None = None
) -> "Callable[[ChatModel, Embedder], Extractor[Any]]":
    """Return the constructor of the configured extractor, for a given model and embedder.

    The prompts are in place of those that the settings name. The constructor raises `BadUsage` for
    a template that is not valid.
    """
    from turnetl.extraction.hybrid import HybridExtractor
    from turnetl.extraction.structural import StructuralExtractor

    of_model = model_extractor(settings, prompts)
    if settings.extractor_name == "llm":
        return of_model
    return lambda model, embedder: HybridExtractor(StructuralExtractor(), of_model(model, embedder))


def model_extractor(
    settings: Settings, prompts: PromptConfigs | None = None
) -> "Callable[[ChatModel, Embedder], LlmExtractor]":
    """Return the constructor of the `llm` extractor, as `extractor_over`."""

    def construct(model: "ChatModel", embedder: "Embedder") -> "LlmExtractor":
        from turnetl.episodes import chunking
        from turnetl.extraction.llm import LlmExtractor

        return LlmExtractor(
            model,
            embedder,
            prompts=prompts or PromptConfigs(settings.extraction, templates()),
            ontology=ontology.load(settings.extraction.ontology, templates()),
            split_text=chunking.split_in_half,
            parameters=settings.llm.effort or "",
            most_ended=settings.invalidation_alert,
        )

    return construct


async def check_model(
    settings: Settings, stack: "ModelStack", progress: Progress = ignore_progress
) -> "ModelCheck":
    """Send one request of each kind that a run sends, and one to an embedder behind HTTP."""
    from turnetl.extraction import model_checks
    from turnetl.extraction.llm.clients import most_items, prompts_of
    from turnetl.extraction.model_checks import fact_questions_check
    from turnetl.llm.checks import ModelCheck, check
    from turnetl.summaries.refresh_check import refresh_check
    from turnetl.wiring import clients

    kinds = ontology.load(settings.extraction.ontology, templates())
    prompts = PromptConfigs(settings.extraction, templates()).for_turn(GroupId(""))
    reflexion = model_checks.reflexion_requests() if prompts.reflexion else ()
    several_facts = (fact_questions_check(prompts.style),) if prompts.style != "graphiti" else ()
    model = clients.model(settings, stack)
    try:
        results = await check.check(
            model,
            prompts=prompts_of(prompts.style),
            entity_types=kinds.entity_types,
            edge_types=kinds.edge_types,
            instructions=prompts.instructions,
            extra_requests=(*several_facts, refresh_check(), *reflexion),
            max_items=most_items(prompts.style),
            on_result=lambda done, total: progress(ProgressUpdate("check", "", done, total)),
        )
    finally:
        await model.close()
    return ModelCheck((*results, *await _check_embedder(settings, stack)))


def check(settings: Settings, run_preprocessing: str | None = None) -> None:
    """Check that every template that the settings name is valid.

    If instructions are given for this run only, a template that is missing or empty is an error
    too, so that no run is paid for without it.

    Raises:
        BadUsage: a template is not valid; names it, its folder and the reason.
    """
    prompt = settings.extraction.preprocessing_prompt
    if run_preprocessing is not None and isinstance(prompt, str):
        if prompt.endswith(TEMPLATE_SUFFIX):
            templates().read(prompt)
        elif error := prompt_warning(prompt):
            raise BadUsage(error)
    ontology.load(settings.extraction.ontology, templates())
    prompts = PromptConfigs(settings.extraction, templates())
    for group in ("", *settings.extraction.groups):
        for kind in ("", *KINDS):
            prompts.for_turn(GroupId(group), kind)


def check_no_model(settings: Settings) -> None:
    """Raise `BadUsage` if settings ask for a model, and no extractor is named that uses one."""
    if settings.extractor is None and (names := model_intent(settings)):
        named = ", ".join(f"`{name}`" for name in names)
        need = "needs" if len(names) == 1 else "need"
        raise BadUsage(f"{named} {need} a model, and none is configured: {CONFIGURE_MODEL}")


async def _check_embedder(settings: Settings, stack: "ModelStack") -> "Sequence[CheckResult]":
    from turnetl.llm.checks import CheckResult
    from turnetl.wiring import embedding

    if not embedding.is_remote(settings):
        return ()
    async with embedding.embedder(settings, stack.retry_policy) as embedder:
        error = ""
        try:
            await embedder.embed(["a text of some words"])
        except TurnetlError as failure:
            error = str(failure)
        return (CheckResult("embeddings", embedder.name, error, Usage(calls=1, cost=None)),)
