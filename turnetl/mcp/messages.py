"""What is wrong with a message of a client that the SDK would not answer."""

import re
from typing import Any

import mcp_types as types
from pydantic import ValidationError
from pydantic_core import from_json

MAX_MESSAGE = 4 * 1024 * 1024
"""Bytes of a message."""
_NOT_JSON = "not one JSON value of at most 4 MiB"
_NOT_A_MESSAGE = (
    "not a JSON-RPC 2.0 message; the id of a request is a text or an integer, and each message is "
    "sent by itself"
)
_ESCAPES = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)
"""The escapes of JSON; the group is half of a character."""
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")


def with_whole_characters(message: bytes) -> bytes:
    """Return a message with U+FFFD in place of each half of a character.

    A client in JavaScript sends one if a model or the client has cut a text within a character. No
    decoder of the SDK takes it, and its request would have no answer with its id.
    """
    if _HALF.search(message) is None:
        return message
    return _ESCAPES.sub(lambda found: rb"\ufffd" if found[1] else found[0], message)


def has_unusable_id(message: Any) -> bool:
    """Return whether a JSON value is a request whose id no answer can carry.

    The SDK takes such a request for a notification, and would say nothing about it.
    """
    if not isinstance(message, dict) or not {"method", "id"} <= message.keys():
        return False
    return not isinstance(message["id"], str | int) or isinstance(message["id"], bool)


def problem_of(message: bytes) -> types.JSONRPCError | None:
    """Return the answer to what is no message, or cannot be answered; None if it can be."""
    try:
        value = from_json(message)
        if has_unusable_id(value):
            return not_a_message()
        types.jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError:
        return not_a_message()
    except ValueError:
        return not_json()
    return None


def not_json() -> types.JSONRPCError:
    return _error(types.PARSE_ERROR, _NOT_JSON)


def not_a_message() -> types.JSONRPCError:
    return _error(types.INVALID_REQUEST, _NOT_A_MESSAGE)


def _error(code: int, message: str) -> types.JSONRPCError:
    data = types.ErrorData(code=code, message=message)
    return types.JSONRPCError(jsonrpc="2.0", id=None, error=data)
