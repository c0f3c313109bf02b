"""The pages of a list: which of its items are shown, and the links to the others."""

from dataclasses import dataclass

from turnetl.web.forms import PageForm
from turnetl.web.links import link


@dataclass(frozen=True, slots=True)
class Paging:
    """The place of a page in its list."""

    first: int
    """Number of the first item that is shown, from 1; 0 if none is."""
    last: int
    total: int | None
    """Items of the whole list; None: unknown."""
    previous: str | None
    """Address of the page before it."""
    next: str | None


def paging(
    page: str,
    form: PageForm,
    *,
    size: int,
    shown: int,
    total: int | None = None,
    more: bool = False,
) -> Paging:
    """Return the place of a page.

    Args:
        page: name of the page, as in `links`.
        form: its parameters.
        size: items of a full page.
        shown: items that this one shows.
        total: items of the whole list; None: unknown.
        more: of an unknown total: whether there are items after those that are shown.
    """
    skipped = (form.page - 1) * size
    has_next = more if total is None else skipped + size < total
    return Paging(
        first=skipped + 1 if shown else 0,
        last=skipped + shown if shown else 0,
        total=total,
        previous=link(page, form.pairs(page=form.page - 1)) if form.page > 1 else None,
        next=link(page, form.pairs(page=form.page + 1)) if has_next else None,
    )
