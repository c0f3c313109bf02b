"""Sends one request through a journal; its model responds when a line arrives on standard input.

python -m tests.llm.claim_program JOURNAL

Prints `sending` when the model gets the request, `asked` a moment after the program asked for the
response, and at the end `sent` and how many requests the model got.
"""

import asyncio
import signal
import sys
from contextlib import closing
from pathlib import Path
from uuid import uuid4

from tests.llm.journal_fixtures import NAME, chat_request, chat_response
from turnetl.base.clock import now
from turnetl.ingestion import held_lease
from turnetl.llm.chat import ChatRequest, ChatResponse
from turnetl.llm.journal import Journal, JournaledModel

_MOMENT = 0.5
"""Seconds."""


class SlowModel:
    name = NAME

    def __init__(self) -> None:
        self.requests = 0

    async def complete(self, _: ChatRequest) -> ChatResponse:
        self.requests += 1
        say("sending")
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        await reader.readline()
        return chat_response()

    async def close(self) -> None:
        pass


async def main(path: str) -> None:
    owner, model = held_lease.owner_name(uuid4().hex), SlowModel()
    journal = Journal(Path(path), clock=now, owner=owner, is_dead=held_lease.is_dead)
    journaled = JournaledModel(model, journal, grace_period=0)
    with closing(journal):
        try:
            response = asyncio.create_task(journaled.complete(chat_request()))
            await asyncio.sleep(_MOMENT)
            say("asked")
            await response
        finally:
            await journaled.close()
    say(f"sent {model.requests}")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    # A shell without job control starts background jobs with SIGINT ignored; children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    asyncio.run(main(sys.argv[1]))
