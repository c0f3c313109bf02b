"""Rendered pages: every text is escaped, nothing is loaded, and only the own style applies."""

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files

from jinja2 import BaseLoader, ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from turnetl.base.clock import encoded_time
from turnetl.base.control_characters import displayed_text
from turnetl.html.references import shown_path

GENERATOR = '<meta name="generator" content="turnetl">'
"""Stands near the beginning of every page."""
_PACKAGE = "turnetl.html"
_CODE = re.compile(r"(?<!`)`([^`\n]{1,300})`(?!`)")
_POLICY = {
    "default-src": "'none'",
    "base-uri": "'none'",
    "form-action": "'none'",
}


@cache
def stylesheet() -> str:
    return files(_PACKAGE).joinpath("style.css").read_text("utf-8")


def content_security_policy(directives: Mapping[str, str] | None = None) -> str:
    """Return what a page may use: its style sheet, and what a directive allows.

    Further directives, or replacements, are given by name: `{"connect-src": "'self'"}`.
    """
    style = {"style-src": source_hash(stylesheet())}
    allowed = _POLICY | style | dict(directives or {})
    return "; ".join(f"{name} {value}" for name, value in allowed.items())


def source_hash(text: str) -> str:
    """Return the expression with which a policy allows an inline style or script of this text."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def environment(loaders: Iterable[BaseLoader] = ()) -> Environment:
    """Return an environment for templates that extend `layout.html` and import `macros.html`.

    Every value is escaped, and its control characters are displayed, as on a terminal. A variable
    that is not given is an error. Further `loaders` come before that of this package.
    """
    made = Environment(
        loader=ChoiceLoader([*loaders, PackageLoader(_PACKAGE)]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_displayed,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "minute": minute,
        "day": day,
        "count": count,
        "iso": encoded_time,
        "home": shown_path,
        "code": with_code,
    }
    return made


def render(
    environment: Environment,
    template: str,
    *,
    title: str,
    directives: Mapping[str, str] | None = None,
    **values: object,
) -> str:
    """Return a complete page; a server sends the policy of the same `directives` as a header."""
    page = environment.get_template(template).render(
        title=title,
        policy=content_security_policy(directives),
        # The author's own text; its digest is in the policy, so that it must not be changed.
        style=Markup(stylesheet()),  # noqa: S704 - no value is part of it
        **values,
    )
    return page + "\n"


def minute(time: datetime | None) -> str:
    """Return the time in UTC to the minute; a dash if there is none."""
    return "-" if time is None else f"{time.astimezone(UTC):%Y-%m-%d %H:%M}"


def day(time: datetime | None) -> str:
    """Return the day in UTC; a dash if there is none."""
    return "-" if time is None else f"{time.astimezone(UTC):%Y-%m-%d}"


def count(number: float) -> str:
    """Return a number with separators of thousands; a fraction has two digits."""
    return f"{number:,}" if isinstance(number, int) else f"{number:,.2f}"


def with_code(text: str) -> Markup:
    """Return the text with what it quotes in backticks as code, and all of it escaped."""
    parts = _CODE.split(displayed_text(text))
    shown = (
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part)
        for place, part in enumerate(parts)
    )
    return Markup("").join(shown)


def _displayed(value: object) -> object:
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return displayed_text(value)
