"""The speakers of a chat: OpenAI's `role` and ShareGPT's `from`."""

from enum import Enum


class Speaker(Enum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL_CALL = "tool call"
    """The assistant, with a message that is only a tool call."""
    TOOL = "tool"


OPENAI = {
    "system": Speaker.SYSTEM,
    "developer": Speaker.SYSTEM,
    "user": Speaker.USER,
    "assistant": Speaker.ASSISTANT,
    "tool": Speaker.TOOL,
    "function": Speaker.TOOL,
}
SHAREGPT = {
    "system": Speaker.SYSTEM,
    "human": Speaker.USER,
    "user": Speaker.USER,
    "gpt": Speaker.ASSISTANT,
    "assistant": Speaker.ASSISTANT,
    "chatgpt": Speaker.ASSISTANT,
    "bing": Speaker.ASSISTANT,
    "bard": Speaker.ASSISTANT,
    "model": Speaker.ASSISTANT,
    "function_call": Speaker.TOOL_CALL,
    "function-call": Speaker.TOOL_CALL,
    "tool_call": Speaker.TOOL_CALL,
    "observation": Speaker.TOOL,
    "tool": Speaker.TOOL,
    "tool_response": Speaker.TOOL,
    "function_response": Speaker.TOOL,
    "function-response": Speaker.TOOL,
}
SPEAKERS = OPENAI | SHAREGPT
