"""A model whose answers are kept: what was answered once is not asked again."""

import asyncio
import logging
from dataclasses import replace

from turnetl.llm import fit
from turnetl.llm.chat import Answer, Model, Question
from turnetl.llm.journal.key import key_of
from turnetl.llm.journal.store import Journal

log = logging.getLogger(__name__)

_GRACE = 30.0
"""Seconds; most answers are there after ten."""


class Journaled:
    """A model that looks into a journal before it asks, and writes there before it answers.

    A question that is in the air is joined. A call goes on when whoever began it is gone: it is
    paid for, and whoever asks next finds its answer.
    """

    def __init__(
        self, model: Model, journal: Journal, *, parameters: str = "", grace: float = _GRACE
    ) -> None:
        """Wrap a model that gives only answers that fit.

        Args:
            model: asked for what is not in the journal.
            journal: of all models of the process; closed by whoever opened it, after this.
            parameters: what the model is told in every call, beside the question.
            grace: seconds that `close` waits for answers which nobody waits for any more.
        """
        self._model = model
        self._journal = journal
        self._parameters = parameters
        self._grace = grace
        self._air: dict[str, asyncio.Task[Answer]] = {}

    @property
    def name(self) -> str:
        return self._model.name

    async def answer(self, question: Question) -> Answer:
        """Ask once, if it was not asked before. What cost nothing now is `journaled`.

        Raises:
            JournalRefused: the journal cannot be read, or could not be written: nothing was asked.
            ModelRefused, ModelBusy, TooLong, BadTurn, Exhausted: as the model. Not kept.
        """
        key = key_of(self.name, question, self._parameters)
        if key not in self._air:
            found = await self._found(key, question)
            if found is not None:
                return found
        joined = key in self._air
        if not joined:
            self._begin(key, question)
        # The call is shared: whoever is cancelled takes it from nobody.
        answer = await asyncio.shield(self._air[key])
        return replace(answer, journaled=True) if joined else answer

    async def close(self) -> None:
        """Wait a while for answers in the air: they are paid for. Then break off, and close."""
        if self._air:
            waited = "waiting up to %g s for answers that are paid for: %s"
            log.warning(waited, self._grace, f"{len(self._air):,}")
            await asyncio.wait(self._air.values(), timeout=self._grace)
        calls = tuple(self._air.values())
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await self._model.close()

    async def _found(self, key: str, question: Question) -> Answer | None:
        found = await self._journal.found(key)
        if found is None:
            return None
        try:
            fit.check(found.text, question.schema)
        except ValueError:
            # Kept by a version that was content with less, perhaps.
            self._journal.distrust(key, question.prompt)
            return None
        self._journal.use(key)
        # Else a run that finds everything would let nothing else run, not even a lease's renewal.
        await asyncio.sleep(0)
        return found

    def _begin(self, key: str, question: Question) -> None:
        call = asyncio.create_task(self._asked(key, question))
        self._air[key] = call
        call.add_done_callback(lambda done: self._landed(key, done))

    async def _asked(self, key: str, question: Question) -> Answer:
        await self._journal.check()
        answer = await self._model.answer(question)
        if not (answer.cut or answer.refused):
            await self._journal.kept(key, question, self.name, answer)
        return answer

    def _landed(self, key: str, call: asyncio.Task[Answer]) -> None:
        del self._air[key]
        # Asyncio complains of a failure that nobody saw, though nobody may wait any more.
        if not call.cancelled():
            call.exception()
