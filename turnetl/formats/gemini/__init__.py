"""Gemini CLI: session files, old and new, and the output of `--output-format stream-json`."""

from turnetl.formats.gemini.reader import GeminiJson, GeminiJsonl
from turnetl.formats.gemini.stream import GeminiStream
