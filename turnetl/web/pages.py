"""The handlers of the pages: from a request to a rendered page, whatever happens."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from http import HTTPStatus
from typing import Any

from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from turnetl.base.errors import BadUsage, TurnetlError
from turnetl.html.pages import render
from turnetl.pipeline.opened_items import IndexAnswer
from turnetl.report_pages.activity_page import reported_turns
from turnetl.retrieval.details import (
    Details,
    EntityDetails,
    FactDetails,
    SessionDetails,
    TurnDetails,
)
from turnetl.retrieval.items import AmbiguousItem
from turnetl.views.index import unread_messages
from turnetl.web import forms
from turnetl.web.access import DIRECTIVES, Refusal
from turnetl.web.answers import OpenedItem, PageAnswers
from turnetl.web.forms import PageForm, read_form
from turnetl.web.live_report import LiveReports, live_report_page
from turnetl.web.routes.entities import fact_page
from turnetl.web.routes.references import choices_page
from turnetl.web.routes.turns import session_page, turn_page

log = logging.getLogger(__name__)

_UNEXPECTED = (
    "`turnetl serve` met an unexpected error while it made this page; it printed the error on its "
    "terminal, and prints the place with `--debug`: report it"
)
_REFUSALS = {
    Refusal.HOST: "these pages are only for addresses of this machine: open the address that "
    "`turnetl serve` printed",
    Refusal.METHOD: "these pages are only read: every request is a GET",
    Refusal.TOO_LONG: "the address is too long: shorten the query",
    Refusal.WRONG_TOKEN: "the token in the address is not that of this `turnetl serve`: open the "
    "address that it printed when it started",
    Refusal.NO_COOKIE: "this browser has not been let in: open the address that `turnetl serve` "
    "printed when it started",
}

PageHandler = Callable[[Request], Awaitable[Response]]


class Pages:
    def __init__(
        self, answers: PageAnswers, reports: LiveReports, environment: Environment
    ) -> None:
        self._answers = answers
        self._reports = reports
        self._environment = environment

    def handlers(self) -> dict[str, PageHandler]:
        found: dict[str, PageHandler] = {
            "": self._overview,
            forms.SEARCH: partial(self._form, "search.html", "Search", self._answers.search),
            forms.TIMELINE: partial(
                self._form, "timeline.html", "Timeline", self._answers.timeline
            ),
            forms.FIX: partial(self._form, "fix.html", "Errors", self._answers.fixes),
            forms.PROJECT: self._project,
            forms.ENTITY: self._entity,
            forms.FILE: self._entity,
            forms.LINES: self._lines,
            forms.REPORT: self._report,
        }
        items = dict.fromkeys((forms.TURN, forms.SESSION, forms.FACT), self._item)
        return {page: self._guarded(handler) for page, handler in (found | items).items()}

    def refusal(self, refusal: Refusal) -> Response:
        return self._problem(_REFUSALS[refusal], refusal.status, is_inside=False)

    async def missing(self, _request: Request, _error: Exception) -> Response:
        return self._problem("there is no such page", HTTPStatus.NOT_FOUND)

    def _guarded(self, handler: PageHandler) -> PageHandler:
        """Return a handler that answers with a sentence where another one raises."""

        async def handle(request: Request) -> Response:
            try:
                return await handler(request)
            except AmbiguousItem as error:
                answer = IndexAnswer(None, None, None)
                status, view = HTTPStatus.MULTIPLE_CHOICES, choices_page(error)
                return self._page("choices.html", "Several matches", answer, status, item=view)
            except BadUsage as error:
                return self._problem(str(error), HTTPStatus.NOT_FOUND)
            except TurnetlError as error:
                return self._problem(str(error), HTTPStatus.SERVICE_UNAVAILABLE)
            except Exception:
                log.exception("the page `%s` failed", request.url.path.rpartition("/")[2])
                return self._problem(_UNEXPECTED, HTTPStatus.INTERNAL_SERVER_ERROR)

        return handle

    async def _overview(self, _request: Request) -> Response:
        answer = await self._answers.overview()
        return self._page("overview.html", "turnetl", answer)

    async def _form(
        self,
        template: str,
        title: str,
        ask: Callable[[PageForm], Awaitable[IndexAnswer[Any]]],
        request: Request,
    ) -> Response:
        """Return a page with a form; what is wrong with the form is said beside it."""
        groups = (await self._answers.groups()).value
        form, problem = PageForm(), None
        try:
            form = _form_of(request)
            answer = await ask(form)
        except BadUsage as error:
            problem = str(error)
            answer = IndexAnswer(None, None, None)
        status = HTTPStatus.BAD_REQUEST if problem else HTTPStatus.OK
        title = f"{form.query} · {title}" if form.query else title
        return self._page(
            template, title, answer, status, form=form, groups=groups, problem=problem
        )

    async def _item(self, request: Request) -> Response:
        form = _form_of(request)
        answer = await self._answers.item(form)
        found = answer.value.details
        if found.kind != request.url.path.rpartition("/")[2]:
            address = forms.item_link(found.kind, _id(found))
            return RedirectResponse(address, HTTPStatus.SEE_OTHER)
        template, title, view = _item_page(form, answer.value)
        return self._page(template, title, answer, item=view)

    async def _entity(self, request: Request) -> Response:
        answer = await self._answers.entity(_form_of(request))
        return self._page("entity.html", answer.value.name, answer)

    async def _project(self, request: Request) -> Response:
        answer = await self._answers.project(_form_of(request))
        return self._page("project.html", answer.value.group.text, answer)

    async def _lines(self, request: Request) -> Response:
        answer = await self._answers.lines(_form_of(request))
        return self._page("lines.html", "Archive lines", answer)

    async def _report(self, request: Request) -> Response:
        groups = (await self._answers.groups()).value
        try:
            form = _form_of(request)
            report = await self._reports.make(form)
        except BadUsage as error:
            return self._problem(str(error), HTTPStatus.BAD_REQUEST)
        turns = [turn.turn_id for turn in reported_turns(report)]
        indexed = (await self._answers.indexed(turns)).value
        return HTMLResponse(
            await asyncio.to_thread(live_report_page, report, indexed, form=form, groups=groups)
        )

    def _page(
        self,
        template: str,
        title: str,
        answer: IndexAnswer[Any],
        status: HTTPStatus = HTTPStatus.OK,
        **values: object,
    ) -> Response:
        text = render(
            self._environment,
            template,
            title=title,
            directives=DIRECTIVES,
            is_inside=True,
            **{"view": answer.value} | values,
            caught_up_at=answer.caught_up_at,
            warnings=unread_messages(answer.unread, answer.caught_up_at),
        )
        return HTMLResponse(text, status)

    def _problem(self, message: str, status: HTTPStatus, *, is_inside: bool = True) -> Response:
        text = render(
            self._environment,
            "problem.html",
            title=status.phrase,
            directives=DIRECTIVES,
            is_inside=is_inside,
            message=message,
            caught_up_at=None,
            warnings=[],
        )
        return HTMLResponse(text, status)


def _form_of(request: Request) -> PageForm:
    return read_form(request.query_params.multi_items())


def _id(found: Details) -> str:
    match found:
        case TurnDetails(summary=summary):
            return summary.receipt.turn_id
        case SessionDetails(session_id=session_id):
            return session_id
        case EntityDetails(entity=entity):
            return entity.uuid
        case FactDetails(indexed=indexed):
            return indexed.fact.uuid


def _item_page(form: PageForm, item: OpenedItem) -> tuple[str, str, object]:
    match item.details:
        case TurnDetails() as turn:
            return "turn.html", turn.summary.intent or "Turn", turn_page(turn, item.facts)
        case SessionDetails() as session:
            return "session.html", "Session", session_page(form, session)
        case FactDetails() as fact:
            return "fact.html", "Fact", fact_page(fact)
        case EntityDetails():
            raise ValueError("entities have a handler of their own")
