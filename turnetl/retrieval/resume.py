"""The command that continues a session in its agent."""

import re
import shlex

from turnetl.base.graph_model import Receipt

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_OPENCODE_ID = re.compile(r"ses_\w{8,64}", re.ASCII)
_COMMANDS = {
    "claude_code": (_UUID, "claude --resume"),
    "codex": (_UUID, "codex resume"),
    "gemini_json": (_UUID, "gemini --resume"),
    "gemini_jsonl": (_UUID, "gemini --resume"),
    "opencode": (_OPENCODE_ID, "opencode -s"),
}
"""By format: what the agent's session ids look like, and the command that takes one. The formats
without an entry are exports of what cannot be continued."""
_REDACTED = "[REDACTED:"


def resume_command(receipt: Receipt) -> str | None:
    """Return the shell command that continues the session of a turn, in its directory.

    Agents find a session only from the directory in which it was started. None for a session that
    cannot be continued: an export, a session of a subagent, or one whose archive has no id.
    """
    pattern, command = _COMMANDS.get(receipt.format, (None, ""))
    if pattern is None or receipt.agent_id is not None:
        return None
    # Anchored, because the id comes from an archive and becomes part of a command.
    if not pattern.fullmatch(receipt.session_id):
        return None
    resume = f"{command} {receipt.session_id}"
    directory = receipt.cwd
    if not directory or _REDACTED in directory or not directory.isprintable():
        return resume
    return f"cd {shlex.quote(directory)} && {resume}"
