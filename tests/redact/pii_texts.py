"""Texts in which the personal data is marked: `in /home/«home:kim»/shop`."""

import re

from turnetl.redact import SecretRedactor

PII_REDACTOR = SecretRedactor(pii=True)
_MARK = re.compile(r"«(?:([a-z-]+):)?(.*?)»", re.DOTALL)


def plain(marked: str) -> str:
    """Return the text without its marks."""
    return _MARK.sub(r"\2", marked)


def assert_redacted(marked: str) -> None:
    """Check that exactly what is marked is redacted, under its rule, and that this is stable."""
    (clean,), (count,) = PII_REDACTOR.redact([plain(marked)])
    pieces = _MARK.split(marked)
    expected = re.escape(pieces[0])
    for rule, after in zip(pieces[1::3], pieces[3::3], strict=True):
        expected += rf"\[REDACTED:{rule}:[0-9a-f]+\]" + re.escape(after)
    assert re.fullmatch(expected, clean), clean
    assert count == clean.count("[REDACTED:")
    assert PII_REDACTOR.redact([clean]) == ([clean], [0])


def assert_kept(text: str) -> None:
    assert PII_REDACTOR.redact([text]) == ([text], [0])
