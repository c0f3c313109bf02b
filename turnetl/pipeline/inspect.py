"""Inspect the templates and the model of a run."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage
from turnetl.base.private_files import create_file, create_folder
from turnetl.base.progress import Progress, ignore_progress
from turnetl.extraction.catalog import TemplateCatalog, catalog, select
from turnetl.extraction.templates import TEMPLATES_FOLDER
from turnetl.llm.checks import ModelCheck
from turnetl.llm.retry import RetryPolicy
from turnetl.pipeline.previews import estimated_tokens
from turnetl.pipeline.run_options import RunOptions, settings_for_run
from turnetl.settings import Settings

_SHORT_RETRIES = RetryPolicy(attempts=4, max_timeouts=1, max_responses=3)
"""A user waits for the result of a check. A server that ignores response schemas gets them in the
prompt from the third request on."""


def templates(settings: Settings, names: Sequence[str] = ()) -> TemplateCatalog:
    """Return the templates and ontologies with these names; all of them if there are no names."""
    resolver = wiring.templates()
    entries = catalog(settings.extraction, resolver, estimated_tokens)
    return TemplateCatalog(select(entries, names, resolver))


def copy_template(
    settings: Settings, name: str, output: Path | None, home: Path
) -> tuple[Path, TemplateCatalog]:
    """Copy the file of a template or an ontology; return the copy, and the entry of the name then.

    Without `output` the copy is the file of that name in the user's folder of templates.
    """
    (entry,) = templates(settings, (name,)).templates
    if entry.path is None:
        raise BadUsage(f"`{name}` has no file: it is a text of the config; copy it from there")
    text, problem = wiring.templates().subfolder(str(Path(entry.name).parent)).read_text(entry.path)
    if text is None:
        raise BadUsage(f"`{entry.path}` {problem}: correct it, or move it away")
    path = output or home / TEMPLATES_FOLDER / entry.name
    try:
        create_folder(path.parent)
        with create_file(path) as file:
            file.write(text.encode())
    except FileExistsError as error:
        raise BadUsage(f"`{path}` exists: edit it, or name another file with --output") from error
    except OSError as error:
        raise BadUsage(f"cannot write `{path}`: {error.strerror}; use --output") from error
    return path, templates(settings, (name,))


async def check_model(
    settings: Settings, options: RunOptions, clock: Clock, progress: Progress = ignore_progress
) -> ModelCheck:
    # A response from the journal would not show what the model can do today.
    uncached = settings.model_copy(update={"extractor": "llm", "journal": False})
    run_settings = settings_for_run(uncached, options)
    wiring.check(run_settings, options.preprocessing)
    async with wiring.model_stack(run_settings, clock) as stack:
        impatient = replace(stack, retry_policy=_SHORT_RETRIES)
        return await wiring.check_model(run_settings, impatient, progress)
