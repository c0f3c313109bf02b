"""Who speaks in a chat: the roles of OpenAI's messages, and what ShareGPT's are said to be from."""

from enum import Enum


class Speaker(Enum):
    SYSTEM = "system"
    PERSON = "person"
    MODEL = "model"
    CALL = "call"
    """The model, with nothing but a call of a tool."""
    TOOL = "tool"


OPENAI = {
    "system": Speaker.SYSTEM,
    "developer": Speaker.SYSTEM,
    "user": Speaker.PERSON,
    "assistant": Speaker.MODEL,
    "tool": Speaker.TOOL,
    "function": Speaker.TOOL,
}
SHAREGPT = {
    "system": Speaker.SYSTEM,
    "human": Speaker.PERSON,
    "user": Speaker.PERSON,
    "gpt": Speaker.MODEL,
    "assistant": Speaker.MODEL,
    "chatgpt": Speaker.MODEL,
    "bing": Speaker.MODEL,
    "bard": Speaker.MODEL,
    "model": Speaker.MODEL,
    "function_call": Speaker.CALL,
    "function-call": Speaker.CALL,
    "tool_call": Speaker.CALL,
    "observation": Speaker.TOOL,
    "tool": Speaker.TOOL,
    "tool_response": Speaker.TOOL,
    "function_response": Speaker.TOOL,
    "function-response": Speaker.TOOL,
}
SPEAKERS = OPENAI | SHAREGPT
