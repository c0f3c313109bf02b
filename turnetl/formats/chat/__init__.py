"""Chat logs and the datasets made of them: OpenAI's messages, and ShareGPT's conversations."""

from turnetl.formats.chat.openai import OpenAIConversations
from turnetl.formats.chat.sharegpt import ShareGPT

__all__ = ["OpenAIConversations", "ShareGPT"]
