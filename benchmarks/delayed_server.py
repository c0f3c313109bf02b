"""A relay before a server that delays each answer, as a network does."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def delayed(port: int, seconds: float) -> Iterator[int]:
    """Yield the port of a relay to a port of this machine."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def start() -> asyncio.Server:
        return await asyncio.start_server(
            lambda reader, writer: _relay(reader, writer, port, seconds), "127.0.0.1", 0
        )

    async def stop() -> None:
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    server = asyncio.run_coroutine_threadsafe(start(), loop).result()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


async def _relay(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int, seconds: float
) -> None:
    server_reader, server_writer = await asyncio.open_connection("127.0.0.1", port)
    asked = asyncio.Event()

    async def requests() -> None:
        while data := await reader.read(1 << 16):
            asked.set()
            server_writer.write(data)
            await server_writer.drain()
        server_writer.close()

    async def answers() -> None:
        while data := await server_reader.read(1 << 16):
            if asked.is_set():
                asked.clear()
                await asyncio.sleep(seconds)
            writer.write(data)
            await writer.drain()
        writer.close()

    with suppress(OSError, asyncio.CancelledError):
        await asyncio.gather(requests(), answers())
