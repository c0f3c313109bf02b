"""Codex CLI: rollouts as JSONL, and as the documents of its first version."""

from turnetl.formats.codex.history import CodexHistory
from turnetl.formats.codex.reader import Codex, CodexDocument
