"""Self-contained HTML pages: escaped text, one style sheet, no script, nothing that is loaded."""

from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from html import escape

from turnetl.html.pages import GENERATOR

_STYLE = """
:root { color-scheme: light dark; --text: #1c2024; --soft: #5c6670; --line: #d9dee3;
  --card: #f6f8fa; --page: #fff; --good: #1a7f4b; --bad: #b3261e; --bar: #3b76c4; }
@media (prefers-color-scheme: dark) { :root { --text: #e4e7ea; --soft: #9aa4ae; --line: #363d45;
  --card: #1f242a; --page: #15191d; --good: #58c48a; --bad: #ff8a80; --bar: #6ea3e8; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 68rem; background: var(--page);
  color: var(--text); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; }
h2 { font-size: 1.3rem; margin: 3rem 0 .75rem; overflow-wrap: anywhere; }
h3 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
p { margin: .4rem 0; max-width: 46rem; }
ul { margin: .4rem 0; padding-left: 1.25rem; }
li { overflow-wrap: anywhere; }
.soft { color: var(--soft); }
.verdict { border: 1px solid var(--line); border-left: 5px solid var(--good); border-radius: 6px;
  background: var(--card); padding: .6rem 1rem; }
.verdict.bad { border-left-color: var(--bad); }
.good { color: var(--good); } .bad strong { color: var(--bad); }
.wide { overflow-x: auto; margin: 1rem 0; }
.names { columns: 18rem; column-gap: 2rem; font-size: .9rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0;
  border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
th { color: var(--soft); font-weight: 600; font-size: .85rem; white-space: nowrap; }
.number { text-align: right; white-space: nowrap; }
table.figures { max-width: 38rem; }
details { border-bottom: 1px solid var(--line); padding: .5rem 0; }
summary { cursor: pointer; overflow-wrap: anywhere; }
details > :not(summary) { margin-left: 1.1rem; }
"""


def text(value: object) -> str:
    """Return a value as text of a page: markup, quotes and control characters do no harm."""
    shown = "".join(char if char.isprintable() else " " for char in str(value))
    return escape(shown, quote=True)


def page(title: str, body: Iterable[str]) -> str:
    """Return a complete page.

    Args:
        title: plain text.
        body: markup; all text in it went through `text`.
    """
    digest = b64encode(sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return "\n".join(
        (
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            GENERATOR,
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{text(title)}</title>",
            f"<style>{_STYLE}</style>",
            "</head>",
            "<body>",
            *body,
            "</body>",
            "</html>",
            "",
        )
    )


def table(
    headers: Iterable[str], rows: Iterable[Iterable[str]], *, numbers: int, style: str = ""
) -> str:
    """Return a table of plain texts.

    Args:
        headers: of the columns.
        rows: texts.
        numbers: columns at the end that are numbers, aligned to the right.
        style: class of the table; may be empty.
    """
    names = list(headers)
    first = len(names) - numbers

    def cells(values: Iterable[str], tag: str) -> str:
        return "".join(
            f"<{tag}{_number(place >= first)}>{text(value)}</{tag}>"
            for place, value in enumerate(values)
        )

    head = f"<thead><tr>{cells(names, 'th')}</tr></thead>"
    lines = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    kind = f' class="{style}"' if style else ""
    return f'<div class="wide"><table{kind}>{head}<tbody>{lines}</tbody></table></div>'


def _number(is_number: bool) -> str:
    return ' class="number"' if is_number else ""
