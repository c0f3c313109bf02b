"""Session ids of conversations. Their own ids do not suffice: datasets often count from 0.

The input of a digest must never change: every id would change.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from turnetl.base.model import SessionId
from turnetl.formats.base import RawTurn
from turnetl.formats.chat.rows import ChatLogMessage, Speaker, is_prompt
from turnetl.formats.kit.tool_input import encoded_json
from turnetl.formats.kit.turn_builder import derived_session_id


def assign_complete_ids(
    own_id: str, messages: Sequence[ChatLogMessage], turns: Iterable[RawTurn], seen: Counter[str]
) -> None:
    """Identify a conversation that is written once by all of its messages.

    Args:
        own_id: the conversation's id in its archive; empty if it has none.
        messages: all messages.
        turns: in order; their ids are completed.
        seen: counts the equal conversations of the archive; is added to.
    """
    name = derived_session_id(own_id, encoded_json([_identity(message) for message in messages]))
    before, seen[name] = seen[name], seen[name] + 1
    session = SessionId(derived_session_id(name, str(before)) if before else name)
    for turn in turns:
        turn.session_id = session
        turn.native_id = f"{session}:{turn.ordinal}"


def assign_growing_ids(
    own_id: str, messages: Sequence[ChatLogMessage], turns: Sequence[RawTurn]
) -> None:
    """Identify a conversation that may still grow by its messages up to the first response.

    Two conversations that start alike get one id. Each turn is identified by all messages up to its
    prompt.

    Args:
        own_id: the conversation's id in its archive; empty if it has none.
        messages: all messages.
        turns: in order; their ids are completed.
    """
    encoded = [encoded_json(_identity(message)) for message in messages]
    start = encoded[: _first_response_end(messages)]
    session = SessionId(derived_session_id(own_id, *start))
    prompts = [
        index
        for index, message in enumerate(messages)
        if message.speaker is Speaker.USER and is_prompt(message)
    ]
    digest, digested = "", 0
    for prompt, turn in zip(prompts, turns, strict=True):
        digest = derived_session_id(digest, *encoded[digested : prompt + 1])
        digested = prompt + 1
        turn.session_id = session
        turn.native_id = f"{session}:{digest}"


def _identity(message: ChatLogMessage) -> tuple[object, ...]:
    content = message.content
    return (
        message.role or message.sender,
        content if content is not None else message.body,
        message.tool_calls,
        message.function_call,
        message.tool_call_id,
    )


def _first_response_end(messages: Sequence[ChatLogMessage]) -> int:
    """Return the number of messages up to and including the first response to a prompt."""
    has_prompt = False
    for number, message in enumerate(messages, 1):
        has_prompt = has_prompt or message.speaker is Speaker.USER
        if has_prompt and message.speaker in (Speaker.ASSISTANT, Speaker.TOOL_CALL):
            return number
    return len(messages)
