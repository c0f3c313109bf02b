"""The reasons under which extracted names and facts are counted as discarded."""

from turnetl.base.reason import Reason


class DiscardReason(Reason):
    """Why an extracted entity or fact is not in the graph."""

    TOO_LONG = "too_long", "The name is a sentence, too long for an index."
    EMPTY = "empty", "The name holds neither a letter nor a digit."
    TEMPORARY_PATH = "temporary_path", "The name is a path in a folder for temporary files."
    UUID = "uuid", "The name contains a UUID."
    HASH = "hash", "The name is a hash or a range of commits."
    PROCESS_ID = "process_id", "The name is the id of a process or a thread."
    RUN_ID = "run_id", "The name is the id of a run, a job, a session or a message."
    LINE_NUMBER = "line_number", "The name is a position in a file."
    PORT = "port", "The name is a port or an address of the local machine."
    DATE = "date", "The name is a date, a time or a duration."
    NUMBER = "number", "The name is a bare number or a quantity."
    GENERIC_WORD = "generic_word", "The name is a word such as `user` or `file`."
    FACTS = "facts", "The fact lost a discarded entity, and its sentence names no other."
