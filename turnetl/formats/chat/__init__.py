"""Chat logs and datasets: OpenAI messages and ShareGPT conversations."""

from turnetl.formats.chat.openai import OpenAIConversations
from turnetl.formats.chat.sharegpt import ShareGPT

__all__ = ["OpenAIConversations", "ShareGPT"]
