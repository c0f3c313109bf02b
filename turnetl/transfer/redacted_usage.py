"""Tokens of subagents in the metadata of turns files, without secrets in the names of models."""

from dataclasses import replace

from turnetl.model import SubagentUsage
from turnetl.redact import Redactor


def redacted_usage(
    usage: tuple[SubagentUsage, ...] | None, redactor: Redactor
) -> tuple[SubagentUsage, ...] | None:
    """Return the tokens with redacted models: an archive may name any text as its model."""
    models = sorted({one.model for one in usage or () if one.model})
    if usage is None or not models:
        return usage
    [redacted] = redactor.redact_many([models])
    clean = dict(zip(models, redacted.texts, strict=True))
    return tuple(replace(one, model=clean.get(one.model or "", one.model)) for one in usage)
