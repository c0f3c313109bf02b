"""Tokens of subagents in the metadata of turns files, without secrets in the names of models."""

from collections.abc import Iterable, Mapping

from turnetl.base.model import SubagentUsage
from turnetl.lake import TurnFile
from turnetl.redact import Redactor


def usage_of(files: Iterable[TurnFile]) -> list[SubagentUsage]:
    """Return the tokens of subagents in the metadata of turns files."""
    return [one for file in files for one in file.metadata.subagent_usage or ()]


def redacted_models(usage: Iterable[SubagentUsage], redactor: Redactor) -> Mapping[str, str]:
    """Return the models of subagents without secrets: an archive may name any text as its model.

    One scan of the models of several archives is faster than one for each.
    """
    models = sorted({one.model for one in usage if one.model})
    if not models:
        return {}
    [redacted] = redactor.redact_many([models])
    return dict(zip(models, redacted.texts, strict=True))
