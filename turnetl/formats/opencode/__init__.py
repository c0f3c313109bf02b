"""OpenCode: exported sessions, and the files of its store."""

from turnetl.formats.opencode.reader import OpenCode
