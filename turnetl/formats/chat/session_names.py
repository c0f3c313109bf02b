"""Names for conversations, which have none that would do: datasets count theirs from 0, each anew.

What is digested here is never added to: every name would change.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from turnetl.formats.base import RawTurn
from turnetl.formats.chat.message_content import is_prompt
from turnetl.formats.chat.roles import Speaker
from turnetl.formats.chat.rows import Message
from turnetl.formats.kit.session_ids import derived_session_id
from turnetl.formats.kit.tool_input import compact_json
from turnetl.model import SessionId


def name_whole(
    given: str, messages: Sequence[Message], turns: Iterable[RawTurn], seen: Counter[str]
) -> None:
    """Name a conversation that is written once, by all that was said in it.

    Args:
        given: the id that it has in its archive; empty if none.
        messages: all of them.
        turns: in order; are completed.
        seen: counts the conversations of the archive that are equal, and is added to.
    """
    name = derived_session_id(given, compact_json([_said(message) for message in messages]))
    before, seen[name] = seen[name], seen[name] + 1
    session = SessionId(derived_session_id(name, str(before)) if before else name)
    for turn in turns:
        turn.session_id = session
        turn.native_id = f"{session}:{turn.ordinal}"


def name_growing(given: str, messages: Sequence[Message], turns: Sequence[RawTurn]) -> None:
    """Name a conversation that may go on, by what was said up to its first answer.

    Two that began alike have one name; their turns are told apart by all that was said before them.

    Args:
        given: the id that it has in its archive; empty if none.
        messages: all of them.
        turns: in order; are completed.
    """
    said = [compact_json(_said(message)) for message in messages]
    session = SessionId(derived_session_id(given, *said[: _behind_first_answer(messages)]))
    people = ((at, one) for at, one in enumerate(messages) if one.speaker is Speaker.PERSON)
    starts = [at for at, message in people if is_prompt(message)]
    so_far, told = "", 0
    for start, turn in zip(starts, turns, strict=True):
        so_far, told = derived_session_id(so_far, *said[told : start + 1]), start + 1
        turn.session_id = session
        turn.native_id = f"{session}:{so_far}"


def _said(message: Message) -> tuple[object, ...]:
    calls = message.tool_calls, message.function_call
    return message.role or message.sender, message.words, *calls, message.tool_call_id


def _behind_first_answer(messages: Sequence[Message]) -> int:
    asked = False
    for number, message in enumerate(messages, 1):
        asked = asked or message.speaker is Speaker.PERSON
        if asked and message.speaker in (Speaker.MODEL, Speaker.CALL):
            return number
    return len(messages)
