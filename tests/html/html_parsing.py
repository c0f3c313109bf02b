"""What a page consists of, as a browser would read it."""

from html.parser import HTMLParser

_VOID = frozenset({"meta", "br", "input"})


class ParsedPage(HTMLParser):
    """The tags of a page with their attributes, and its texts outside of the style."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.links: list[tuple[str, str]] = []
        """The address of each link with its text, in the order of the page."""
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert not self._open

    def attributes(self, name: str) -> list[str]:
        """The values of one attribute, in the order of the page."""
        return [value or "" for _, found in self.tags if name in found for value in [found[name]]]

    def names(self) -> set[str]:
        return {tag for tag, _ in self.tags}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "a":
            self.links.append((dict(attrs).get("href") or "", ""))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1:] != ["style"]:
            self.text += data
        if "a" in self._open:
            href, text = self.links[-1]
            self.links[-1] = href, text + data
