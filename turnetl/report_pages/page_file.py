"""Files of HTML pages: written whole, and never in place of what is no page of turnetl."""

from pathlib import Path

from turnetl.html.pages import GENERATOR
from turnetl.report_pages.own_file import OwnFile

_HEAD = 4096
"""Bytes in which a page says what made it."""


def _is_page(path: Path) -> bool:
    with path.open("rb") as file:
        return GENERATOR.encode() in file.read(_HEAD)


_PAGE = OwnFile("page", _is_page)
check_page, write_page = _PAGE.check, _PAGE.write
