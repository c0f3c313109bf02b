"""Codex CLI: rollouts as JSONL, and as the documents of its first version."""

from turnetl.formats.codex.document import CodexDocument
from turnetl.formats.codex.rollout import Codex

__all__ = ["Codex", "CodexDocument"]
