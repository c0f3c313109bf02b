"""Whose words are these? What stands under role user in Codex, a person's or the program's.

The signs are those that Codex itself tells its own words by, from the first versions on.
"""

import re

from turnetl.skip_reasons import SkipReason

_TAGS = {
    SkipReason.INSTRUCTIONS: (
        ("# agents.md instructions", "</instructions>"),
        ("<user_instructions>", "</user_instructions>"),
        ("<permissions", ">"),
        ("<collaboration_mode>", "</collaboration_mode>"),
    ),
    SkipReason.ENVIRONMENT: (("<environment_context>", "</environment_context>"),),
    SkipReason.SKILL: (
        ("<skill>", "</skill>"),
        ("<skills_instructions>", "</skills_instructions>"),
        ("<recommended_plugins>", "</recommended_plugins>"),
    ),
    SkipReason.SHELL_COMMAND: (("<user_shell_command>", "</user_shell_command>"),),
    SkipReason.INTERRUPT: (("<turn_aborted>", "</turn_aborted>"),),
    SkipReason.NOTIFICATION: (
        ("<subagent_notification>", "</subagent_notification>"),
        ("<agent_message_board_notification>", "</agent_message_board_notification>"),
    ),
    SkipReason.REVIEW: (("<user_action>", "</user_action>"),),
    SkipReason.HOOK: (("<hook_prompt ", "</hook_prompt>"),),
    SkipReason.GOAL: (
        ("<codex_internal_context", "</codex_internal_context>"),
        ("<goal_context>", "</goal_context>"),
    ),
    SkipReason.EXTENSION: (("<extension_context>", "</extension_context>"),),
}
"""The tags around the text that the client inserts, by reason: how it starts and how it ends."""
_TAGGED = [(start, end, reason) for reason, tags in _TAGS.items() for start, end in tags]
_ENDS = tuple(end for _, end, _ in _TAGGED if end != ">")
_EXTERNAL = re.compile(r"<external_([^>\s]+)>.*</external_\1>", re.DOTALL)
_PREFIXES = {
    SkipReason.WARNING: (
        "Warning: The maximum number of unified exec processes you can keep open is",
        "Warning: Your account was flagged for potentially high-risk cyber activity",
        "Warning: apply_patch was requested via ",
    ),
    SkipReason.COMPACTION: (
        "Another language model started to solve this problem and produced a summary",
        "You were originally given instructions from a user over one or more turns",
        "You have exceeded the maximum number of tokens, please stop coding",
    ),
}
_WHOLE = {
    "Start Summarization": SkipReason.COMPACTION,
    "No, don't do that \u2014 keep going though.": SkipReason.REJECTION,
}
_KINDS = {
    "user_instructions": SkipReason.INSTRUCTIONS,
    "environment_context": SkipReason.ENVIRONMENT,
}
_REQUEST = re.compile(r"^#+ My request for Codex:[ \t]*", re.MULTILINE)
_AROUND = ("# Context from my IDE setup:", "# Files mentioned by the user:")
_IMAGE = re.compile(r"\s*(?:<image(?: name=[^>]*)?>|</image>)\s*")
_FOLDER = re.compile(r"<cwd>(.+?)</cwd>|^Current working directory: (.+?)$", re.MULTILINE)
IMAGE = "[image]"


def machine(text: str, kind: str | None = None) -> SkipReason | None:
    """Return in a word what part of the program wrote these words, or None if a person did.

    Args:
        text: what stands under role user.
        kind: what old versions called it.
    """
    text = text.strip()
    if kind in _KINDS:
        return _KINDS[kind]
    if text[:1] in {"<", "#"}:
        return _tagged(text)
    prefixed = (reason for reason, prefixes in _PREFIXES.items() if text.startswith(prefixes))
    return _WHOLE.get(text) or next(prefixed, None)


def _tagged(text: str) -> SkipReason | None:
    """Return what the tags around a text say; several pieces may stand behind each other."""
    head, tail = text[:40].lower(), text[-60:].lower()
    for start, end, reason in _TAGGED:
        if head.startswith(start) and (tail.endswith(end) or tail.endswith(_ENDS)):
            return reason
    return SkipReason.EXTERNAL if _EXTERNAL.fullmatch(text) else None


def request(text: str) -> str:
    """Return what the person asked for, without what the editor put before it, or only that."""
    found = _REQUEST.search(text) if text.lstrip().startswith(_AROUND) else None
    asked = text[found.end() :].strip() if found is not None else ""
    return asked or text.strip()


def is_image_tag(text: str) -> bool:
    """Say whether a text only says that an image begins or ends."""
    return _IMAGE.fullmatch(text) is not None


def folder(text: str) -> str | None:
    """Return the working folder that the program told the model of."""
    found = _FOLDER.search(text)
    return (found[1] or found[2]).strip() if found is not None else None
