"""Inspect the templates, the model and the journal of a run."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage
from turnetl.base.private_files import create_file, create_folder
from turnetl.extraction.catalog import TemplateCatalog, catalog, select
from turnetl.extraction.templates import TEMPLATES_FOLDER
from turnetl.llm.checks import ModelCheck
from turnetl.llm.journal import JournalStats, PruneResult
from turnetl.llm.retry import RetryPolicy
from turnetl.pipeline.previews import estimated_tokens
from turnetl.pipeline.run_options import RunOptions, settings_for_run
from turnetl.settings import Settings

_SHORT_RETRIES = RetryPolicy(attempts=4, max_responses=3)
"""A user waits for the result of a check. A server that ignores response schemas gets them in the
prompt from the third request on."""


def templates(settings: Settings, names: Sequence[str] = ()) -> TemplateCatalog:
    """Return the templates and ontologies with these names; all of them if there are no names.

    Raises:
        BadUsage: no template or ontology has such a name; lists those that exist.
    """
    entries = catalog(settings.extraction, wiring.templates(), estimated_tokens)
    return TemplateCatalog(select(entries, names))


def copy_template(
    settings: Settings, name: str, output: Path | None, home: Path
) -> tuple[Path, TemplateCatalog]:
    """Copy the file of a template or an ontology; return the copy, and the entry of the name then.

    Args:
        settings: name the templates in use.
        name: of the template.
        output: the copy; None: the file of that name in the user's folder of templates.
        home: the user's home folder.

    Raises:
        BadUsage: there is no such template or no file of it, or there is a file at the path of the
            copy, or it cannot be written.
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


async def check_model(settings: Settings, options: RunOptions, clock: Clock) -> ModelCheck:
    """Send one request of each kind that a run sends to the model. Responses are not stored.

    Raises:
        BadUsage: the model is not fully configured.
        ModelUnusable: the user must act first: key, credit, model name.
        ModelBusy: no response after all retries.
    """
    # A response from the journal would not show what the model can do today.
    uncached = settings.model_copy(update={"extractor": "llm", "journal": False})
    run_settings = settings_for_run(uncached, options)
    wiring.check(run_settings, options.preprocessing)
    async with wiring.model_stack(run_settings, clock) as stack:
        return await wiring.check_model(run_settings, replace(stack, retry_policy=_SHORT_RETRIES))


def journal_stats(settings: Settings, clock: Clock) -> JournalStats:
    """Return the statistics of the journal of the lake. Creates no file.

    Raises:
        JournalUnusable: the journal cannot be read.
    """
    with wiring.journal(settings, clock) as journal:
        return journal.stats()


def journal_prune(
    settings: Settings,
    clock: Clock,
    *,
    older_than: datetime | None,
    model: str | None,
    everything: bool,
    dry_run: bool,
) -> PruneResult:
    """Delete the responses from the journal of the lake that match every given condition.

    Args:
        settings: where the lake is.
        clock: returns the current time.
        older_than: responses stored before this time.
        model: responses of this model, with or without its provider.
        everything: all responses.
        dry_run: delete nothing; report what would be deleted.

    Raises:
        BadUsage: no condition is given.
        JournalUnusable: the journal cannot be read or written.
    """
    with wiring.journal(settings, clock) as journal:
        return journal.prune(
            older_than=older_than, model=model, everything=everything, dry_run=dry_run
        )
