"""Recognition of text under Codex's user role that the client wrote and not the user.

The patterns are those by which Codex recognises its own text, since its first versions.
"""

import re

from turnetl.base.skip_reasons import SkipReason

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
    SkipReason.EXTENSION: (
        ("<extension_context>", "</extension_context>"),
        ("<in-app-browser-context", "</in-app-browser-context>"),
    ),
}
"""The start and the end of each text that the client inserts, by reason."""
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
        "You are performing a CONTEXT CHECKPOINT COMPACTION",
    ),
}
_EXACT_TEXTS = {
    "Start Summarization": SkipReason.COMPACTION,
    "No, don't do that \u2014 keep going though.": SkipReason.REJECTION,
}
_KINDS = {
    "user_instructions": SkipReason.INSTRUCTIONS,
    "environment_context": SkipReason.ENVIRONMENT,
}
_INSERTED = re.compile(
    r"\s*(?:# AGENTS\.md instructions[^\n]*\s*<INSTRUCTIONS>.*?</INSTRUCTIONS>"
    r"|<(environment_context|in-app-browser-context|user_instructions|extension_context"
    r"|recommended_plugins|skills_instructions)\b[^>]*>.*?</\1>)\s*",
    re.DOTALL,
)
"""A text that Codex inserts before a prompt in the same message."""
_REQUEST = re.compile(r"^#+ My request for Codex:[ \t]*", re.MULTILINE)
_EDITOR_CONTEXT = ("# Context from my IDE setup:", "# Files mentioned by the user:")
_IMAGE = re.compile(r"\s*(?:<image(?: name=[^>]*)?>|</image>)\s*")
_CWD = re.compile(r"<cwd>(.+?)</cwd>|^Current working directory: (.+?)$", re.MULTILINE)
_REDACTED = re.compile(r"redacted|trimmed|\*{3}|\u2588", re.IGNORECASE)
_PREFIX = 8
"""Characters that two redactions of a text have in common at the start."""
_MARKUP = re.compile(r"<\w|^#|\[")
IMAGE = "[image]"


def skip_reason(text: str, kind: str | None = None) -> SkipReason | None:
    """Return why a text is not the user's, or None if the user wrote it.

    Args:
        text: a text under the user's role.
        kind: the kind that old versions wrote beside it.
    """
    text = text.strip()
    if kind in _KINDS:
        return _KINDS[kind]
    if text[:1] in {"<", "#"}:
        return _tagged(text)
    prefixed = (reason for reason, prefixes in _PREFIXES.items() if text.startswith(prefixes))
    return _EXACT_TEXTS.get(text) or next(prefixed, None)


def _tagged(text: str) -> SkipReason | None:
    """Return the reason that the tags around a text give. Several tagged texts may follow."""
    head, tail = text[:40].lower(), text[-60:].lower()
    for start, end, reason in _TAGGED:
        if head.startswith(start) and (tail.endswith(end) or tail.endswith(_ENDS)):
            return reason
    return SkipReason.EXTERNAL if _EXTERNAL.fullmatch(text) else None


def without_context(text: str) -> str:
    """Return a prompt without the context before it; if there is only context, that."""
    while (inserted := _INSERTED.match(text)) and inserted.end() < len(text):
        text = text[inserted.end() :]
    heading = _REQUEST.search(text) if text.lstrip().startswith(_EDITOR_CONTEXT) else None
    prompt = text[heading.end() :].strip() if heading is not None else ""
    return prompt or text.strip()


def is_image_tag(text: str) -> bool:
    """Return whether a text is only a tag before or after an image."""
    return _IMAGE.fullmatch(text) is not None


def working_folder(text: str) -> str | None:
    """Return the working directory in the client's description of the environment."""
    match = _CWD.search(text)
    return (match[1] or match[2]).strip() if match is not None else None


def are_versions(first: str, second: str) -> bool:
    """Return whether texts on adjacent lines are versions of one.

    One may have tags and a context that the other lacks, or they were redacted in two ways.
    """
    first, second = ("".join(text.split()) for text in (first, second))
    shorter, longer = sorted((first, second), key=len)
    before, found, after = longer.partition(shorter)
    if found:
        return not before + after or _MARKUP.search(before + after) is not None
    if first[:_PREFIX] != second[:_PREFIX]:
        return False
    return any(map(_REDACTED.search, (first, second)))
