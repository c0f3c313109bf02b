"""Reasons that are counted or reported, such as those for which a row or an archive is not used."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Self, TypeVar


class Reason(StrEnum):
    """A reason: its value is the key in tables, counts and `--json`, its sentence explains it."""

    sentence: str
    """What the reason means, for users."""

    def __new__(cls, value: str, sentence: str = "") -> Self:
        """Create a member that carries its sentence. A lookup by value calls no constructor."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.sentence = sentence
        return member


R = TypeVar("R", bound=Reason)


def add_counts(counts: Mapping[R, int], more: Mapping[R, int]) -> Mapping[R, int]:
    reasons = sorted({*counts, *more})
    return {reason: counts.get(reason, 0) + more.get(reason, 0) for reason in reasons}


class SkipReason(Reason):
    """Why a line, a row, a document or an archive adds nothing to a turn."""

    # Lines and elements of any format.
    BLANK = "blank", "The line is blank."
    INVALID_JSON = "invalid_json", "The line or the element is not valid JSON."
    TOO_MANY_VALUES = (
        "too_many_values",
        "The line or the element has more JSON values than the limit.",
    )
    NOT_AN_OBJECT = "not_an_object", "The JSON value is not an object."
    ENVELOPE = "envelope", "The line contains only the document around the messages."
    OTHER = "other", "The row is of a type that the format does not use."
    PREAMBLE = "preamble", "The row precedes the first prompt, so that no turn is open."
    DUPLICATE = "duplicate", "The archive holds the same content in another row."
    VARIANT = "variant", "A row before it has the same id and another text, which is kept."
    SIDECHAIN = "sidechain", "The row belongs to the session of a subagent."
    EMPTY_MESSAGE = "empty_message", "The row has no message or a message without content."
    NO_TEXT = "no_text", "The message holds no text that a user or the agent wrote."
    NO_MESSAGES = "no_messages", "The conversation has no messages."
    SYSTEM = "system", "The message is for the model, from the system or the developer."
    REASONING = "reasoning", "The row holds the model's reasoning, which turnetl does not keep."
    SYNTHETIC = "synthetic", "The client wrote the text under the model's or the user's role."
    COMPACTION = "compaction", "The row belongs to the compaction of the context window."
    SUMMARY = "summary", "The row holds the title or the summary of a session."
    SNAPSHOT = "snapshot", "The row records the state of files."
    SESSION_METADATA = "session_metadata", "The row describes the session."
    UNCONFIRMED = (
        "unconfirmed",
        "The message has no event, unlike the prompt beside it: the client probably wrote it.",
    )
    CONTEXT = "context", "The client wrote the text to describe its environment to the model."

    # Text under the user's role that no user wrote.
    META = "meta", "Claude Code marks the row as its own (`isMeta`)."
    NOTIFICATION = "notification", "A background task or another agent sent the message."
    LOCAL_COMMAND = "local_command", "The client executed the command without the model."
    SHELL_COMMAND = "shell_command", "The user ran a shell command without the model."
    SKILL_CALL = "skill_call", "The row announces a skill or a command that the model called."
    HOOK = "hook", "A hook of the client wrote the text."
    INJECTED = "injected", "A hook of turnetl quoted the history to the model."
    HOOK_FEEDBACK = "hook_feedback", "The row passes the output of a stop hook to the model."
    INSTRUCTIONS = "instructions", "The client inserted instructions for the model."
    ENVIRONMENT = "environment", "The client described the working environment to the model."
    SKILL = "skill", "The client inserted a skill or a plugin for the model."
    INTERRUPT = "interrupt", "The client told the model that the turn was interrupted."
    REVIEW = "review", "The client inserted the result of a code review."
    GOAL = "goal", "The client inserted the goal of the task."
    EXTENSION = "extension", "An extension of the client inserted context."
    EXTERNAL = "external", "An external program inserted context."
    REJECTION = "rejection", "The client told the model that the user rejected an action."
    AUTO_PROMPT = "auto_prompt", "The client itself prompted the model to continue."
    TOOL_RESULT = "tool_result", "The row returns tool results that the archive also has elsewhere."
    SUBTASK = "subtask", "The client started a subtask with the message."

    # Rows of clients about their own work.
    PROGRESS = "progress", "The row reports the progress of a tool."
    QUEUE = "queue", "The queue operation delivered no text of the user to the agent."
    WITHDRAWN = "withdrawn", "The user took the queued text back into the editor."
    UNDELIVERED = "undelivered", "The queued text of the user never reached the agent."
    ATTACHMENT = "attachment", "The attachment holds no text that the user typed."
    EVENT = "event", "The event adds nothing to a turn."
    TOKEN_USAGE = "token_usage", "The row repeats token counts that were counted before."
    TASK = "task", "The event marks the start of a task."
    STATE = "state", "The row records the client's state."
    STEP = "step", "The part marks the start or the end of a model request."
    RETRY = "retry", "The part records that the client repeated a model request."
    RUN_START = "run_start", "The event starts a run of the client."
    INFO = "info", "The client showed a notice of level info."
    WARNING = "warning", "The client showed a warning."
    ERROR = "error", "The client reported an error that ended no turn."

    # Changes that a client makes to its own record of a session.
    REWIND = "rewind", "The row removes messages from the history that the model is shown."
    HISTORY = "history", "The row replaces the history that the model is shown."
    SUPERSEDED = "superseded", "A later row holds a newer version of the message."
    COPY = "copy", "The client wrote a message of the history once more."
    ORPHAN = "orphan", "The part belongs to a message that is not in the archive."

    # Turns that the user removed.
    FORGOTTEN = "forgotten", "The row is the prompt of a turn that `turnetl forget` removed."

    # Archives.
    MISSING = "missing", "The path does not exist."
    FOLDER = "folder", "The path leads to a folder."
    NOT_A_FILE = "not_a_file", "The path leads to neither a file nor a folder."
    OTHER_ENTRY = (
        "other_entry",
        "The entry of a folder is a broken link, a pipe, a socket or a device.",
    )
    UNREADABLE = "unreadable", "The file or the folder cannot be read."
    EMPTY = "empty", "The file is empty, or the folder holds no archive."
    DATABASE = "database", "The file is a database, which turnetl does not read."
    PACKED = (
        "packed",
        "The file is a packed folder or compressed in a way that turnetl does not read.",
    )
    RENAMED = (
        "renamed",
        "The file's name is that of an archive put aside, as a backup; name it to read it.",
    )
    BESIDE_SESSION = "beside_session", "An agent keeps the file beside its sessions."
    OTHER_FILE = "other_file", "The file of a folder is no archive by its name or its start."
    UNKNOWN_FORMAT = "unknown_format", "No known format matches the file."
    WRONG_FORMAT = "wrong_format", "The file contains nothing in the format given with --format."
    TRUNCATED = "truncated", "The end of the file is missing."
    CORRUPT = "corrupt", "The compressed data is damaged."
    DAMAGED_TABLE = (
        "damaged_table",
        "The archive's turns file was damaged; turns that only it held are lost.",
    )
    TOO_LARGE = "too_large", "The uncompressed file is larger than the limit."
    TOO_MANY_ROWS = "too_many_rows", "The archive has more turns or messages than the limit."
    OUT_OF_MEMORY = "out_of_memory", "The file needs more memory than there is."
    WORKER_KILLED = "worker_killed", "The process that read the file was killed."
    UNEXPECTED_ERROR = "unexpected_error", "An unexpected error occurred while the file was read."
