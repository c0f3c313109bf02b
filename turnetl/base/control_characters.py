"""Control characters in printed text: they are displayed, never obeyed.

In a tool result or the name of a file they could move the cursor, change the title of the window,
write to the clipboard, or show a command in another order than it has.
"""

import logging
import re

_CONTROLS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb"
    r"\ud800-\udfff\U000e0000-\U000e007f]"
)
"""C0 but for tab and newline, delete, C1, controls of bidirectional text, separators of lines and
paragraphs, deprecated format characters, annotations, surrogates and tag characters."""
_CONTINUATION = "\n    "


def displayed_text(text: str) -> str:
    r"""Return the text with each control character as its escape, such as `\x1b`."""
    return _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text)


def displayed_message(text: str) -> str:
    """Return the displayed text, indented after its first line: no name looks like a message."""
    return displayed_text(text).replace("\n", _CONTINUATION)


def displayed_name(name: str) -> str:
    r"""Return the name of a file in one line: also a newline and a tab are shown as escapes."""
    return displayed_text(name).replace("\n", "\\n").replace("\t", "\\t")


def displayed_json(encoded: str) -> str:
    r"""Return the same JSON with each control character as its escape, such as `\u202e`."""
    return _CONTROLS.sub(lambda found: unicode_escape(found[0]), encoded)


class DisplayingFormatter(logging.Formatter):
    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - overrides
        return displayed_message(super().formatMessage(record))

    def formatException(self, ei: object) -> str:  # noqa: N802 - overrides
        return displayed_text(super().formatException(ei))  # type: ignore[arg-type]


def unicode_escape(character: str) -> str:
    r"""Return a character as JSON and Cypher escape it: `\u202e`, two above U+FFFF."""
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
