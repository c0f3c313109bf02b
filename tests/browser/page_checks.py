"""Looks at pages in a browser: they must be accessible, and no wider than the window."""

from importlib.resources import files
from typing import Any

from playwright.sync_api import Page

WIDTHS = (360, 768, 1280, 1600)
"""Of a phone, a tablet and two screens, in CSS pixels."""
HEIGHT = 900
LONG = "a_name_of_a_file_without_any_place_to_break_it" * 8
"""A text that no browser breaks by itself."""
_SERIOUS = frozenset({"serious", "critical"})
_FIND_VIOLATIONS = """
axe.run({resultTypes: ['violations']})
    .then(({passes, violations}) => ({passes: passes.length, violations}))
"""
"""Returns a number for what is right: the thousands of its elements take seconds to describe."""
_AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


def open_all(page: Page, within: str = "body") -> None:
    """Open what is folded in these elements, as a reader would."""
    folded = f"document.querySelectorAll('{within} details')"
    page.evaluate(f"{folded}.forEach(one => {{ one.open = true; }})")


def tags(page: Page) -> list[str]:
    """Return the names of all elements in their order."""
    names: list[str] = page.evaluate(
        "[...document.querySelectorAll('*')].map(one => one.tagName.toLowerCase())"
    )
    return names


def serious_violations(page: Page) -> list[str]:
    """Return what axe-core finds that is serious or critical, each with its elements."""
    # Evaluated by the debugger: the policy of a page allows no script of others.
    page.evaluate(_AXE)
    result: dict[str, Any] = page.evaluate(_FIND_VIOLATIONS)
    assert result["passes"] > 0
    return [
        f"{found['id']}: {', '.join(str(node['target']) for node in found['nodes'])}"
        for found in result["violations"]
        if found["impact"] in _SERIOUS
    ]


def height(page: Page) -> int:
    """Return the height of the whole page, in CSS pixels."""
    pixels: int = page.evaluate("document.documentElement.scrollHeight")
    return pixels


def overflow(page: Page) -> int:
    """Return by how many CSS pixels the page is wider than the window."""
    width: int = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    return max(0, width)
