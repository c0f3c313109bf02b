"""The application: its routes behind the gate."""

from pathlib import Path

from starlette.applications import Starlette
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from turnetl.base.clock import Clock
from turnetl.html.pages import environment
from turnetl.pipeline.index_reader import IndexReader
from turnetl.web.access import AccessKeys
from turnetl.web.answers import PageAnswers
from turnetl.web.environment import LOADER
from turnetl.web.gate import Gate
from turnetl.web.live_report import LiveReports
from turnetl.web.pages import Pages

_PACKAGE = "turnetl.web"


def application(reader: IndexReader, clock: Clock, keys: AccessKeys, *, directory: Path) -> ASGIApp:
    """Return the application over an index that is open.

    Args:
        reader: of the index.
        clock: returns the current time.
        keys: let a browser in.
        directory: the one to which the path of a file that starts with a dot is relative.
    """
    answers = PageAnswers(reader, clock, directory)
    reports = LiveReports(reader.settings, clock)
    pages = Pages(answers, reports, environment([LOADER]))
    routes = [Route(f"/{page}", handler) for page, handler in pages.handlers().items()]
    static = StaticFiles(packages=[(_PACKAGE, "static")], follow_symlink=False)
    inner = Starlette(
        routes=[Mount("/static", static), Mount(f"/{keys.folder}", routes=routes)],
        exception_handlers={404: pages.missing},
    )
    return Gate(inner, keys, pages.refusal)
