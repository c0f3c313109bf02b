"""The exit codes of the command, each with a sentence."""

from enum import IntEnum
from typing import Self


class ExitCode(IntEnum):
    """How a command ended."""

    sentence: str

    def __new__(cls, value: int, sentence: str) -> Self:
        member = int.__new__(cls, value)
        member._value_ = value
        member.sentence = sentence
        return member

    DONE = 0, "The command did everything."
    FAILED = (
        1,
        (
            "Something was rejected or failed, or no turn could be ingested because none has a "
            "time. Everything else is done."
        ),
    )
    USAGE = 2, "The arguments or the settings are invalid; nothing was done."
    FOUND = (
        3,
        (
            "The command did everything, but turns are quarantined: `turnetl status` lists them; "
            "or `turnetl verify` or `turnetl prefect doctor` found something wrong, or "
            "`turnetl migrate compare` too much lost."
        ),
    )
    STOPPED = (
        4,
        (
            "The budget or `--max-seconds` is used up, or too many turns failed in a row. After "
            "the first two, the same command continues; after failures, remove their cause and run "
            "`turnetl retry`."
        ),
    )
    INTERRUPTED = (
        130,
        (
            "Ctrl-C or SIGTERM stopped the command; the same command continues. It waits up to 30 "
            "seconds for responses that are already paid for; a second Ctrl-C stops it immediately."
        ),
    )


def is_failure(code: int) -> bool:
    """Return whether the user must act; quarantined turns are not a failure."""
    return code not in (ExitCode.DONE, ExitCode.FOUND)
