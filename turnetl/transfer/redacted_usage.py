"""Tokens of subagents in the metadata of turns files, without secrets in the names of models."""

from turnetl.model import SubagentUsage
from turnetl.parsing.redaction import with_models
from turnetl.redact import Redactor


def redacted_usage(
    usage: tuple[SubagentUsage, ...] | None, redactor: Redactor
) -> tuple[SubagentUsage, ...] | None:
    """Return the tokens with redacted models: an archive may name any text as its model."""
    models = sorted({one.model for one in usage or () if one.model})
    if not models:
        return usage
    [redacted] = redactor.redact_many([models])
    return with_models(usage, dict(zip(models, redacted.texts, strict=True)))
