"""Chat logs and datasets: OpenAI messages and ShareGPT conversations."""

from turnetl.formats.chat.reader import OpenAIConversations, ShareGPT
