"""One call of a hook, as a process that an agent starts: input, answer, and never an error.

An open process answers over a socket, else this one opens the index itself. Whatever fails, the
exit code is 0 and nothing is printed; a line in a log of turnetl's own says why. Each prompt of a
user waits for this module: it imports the standard library and a table.
"""

import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from time import gmtime, strftime
from typing import Any

from turnetl.install.agents import AGENTS, Agent, AnswerShape, HookMoment

if sys.platform != "win32":
    import fcntl

MAX_BYTES = 4 << 20
"""Of an input, and of a message to an open process."""
_LAST_RESORT = 5
"""Seconds after which a call ends without an answer."""
_OPEN_SECONDS = 2.0
"""For which an open process may take."""
_LOG_BYTES = 200_000
_PROJECT_CONFIG = "graphiti.config.json"


@dataclass(frozen=True, slots=True)
class HookCall:
    """What an agent calls a hook with."""

    moment: HookMoment
    agent: str
    session: str = ""
    directory: str = ""
    prompt: str = ""
    transcript: str = ""
    all_projects: bool = False
    lake: str = ""
    graph: str = ""
    config: str = ""

    def encode(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def decode(cls, line: bytes) -> "HookCall":
        given = json.loads(line)
        return cls(**{**given, "moment": HookMoment(given["moment"])})

    @property
    def selection(self) -> tuple[str, str, str]:
        """The lake, the graph and the config file that are named; "" for each that is not."""
        return self.lake, self.graph, self.config

    @property
    def options(self) -> tuple[str, ...]:
        """The options that select the same history in a command."""
        named = {"--lake": self.lake, "--graph": self.graph, "--config": self.config}
        return tuple(word for option in named.items() if option[1] for word in option)


AnswerAlone = Callable[["HookCall"], str]
"""Returns what a hook says if no open process does, from an index that is opened for it."""


def main(
    words: Sequence[str], environment: Mapping[str, str], home: Path, alone: AnswerAlone
) -> None:
    """Answer one call on standard output, and end the process; `words`: those after the verb."""
    with suppress(BaseException):
        _stop_late()
        content = sys.stdin.buffer.read(MAX_BYTES + 1)
        sys.stdout.write(respond(words, content, environment, home, alone))
        sys.stdout.flush()
    # Without the clean-up of the interpreter, and without a late error.
    os._exit(0)


def respond(
    words: Sequence[str],
    content: bytes,
    environment: Mapping[str, str],
    home: Path,
    alone: AnswerAlone,
) -> str:
    """Return what a call prints, "" for nothing. Raises nothing: a failure is logged."""
    state = state_folder(environment, home)
    try:
        call, agent = read_call(words, content)
        return _encoded(agent, call, _answer(call, environment, state, alone))
    except BaseException as error:  # noqa: BLE001 - an agent goes on, whatever happens here
        with suppress(OSError):
            _log(state, words, error)
        return ""


def _stop_late() -> None:
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
        signal.setitimer(signal.ITIMER_REAL, _LAST_RESORT)


def state_folder(environment: Mapping[str, str], home: Path) -> Path:
    """Return the folder of turnetl's own files: `$XDG_STATE_HOME/turnetl`, if absolute."""
    state = Path(environment.get("XDG_STATE_HOME", ""))
    return (state if state.is_absolute() else home / ".local" / "state") / "turnetl"


def read_call(words: Sequence[str], content: bytes) -> tuple[HookCall, Agent]:
    """Return the call of these arguments and this input.

    Raises:
        ValueError: the arguments are not those of a hook, or the input is no JSON object of at most
            `MAX_BYTES` bytes.
    """
    moment, *rest = words or ("",)
    flags = {word for word in rest if word == "--all-projects"}
    pairs = [word for word in rest if word not in flags]
    options = dict(zip(pairs[::2], pairs[1::2], strict=True))
    agent = next(one for one in AGENTS if one.name == options.get("--agent"))
    if len(content) > MAX_BYTES:
        raise ValueError(f"the input has more than {MAX_BYTES:,} bytes")
    given = json.loads(content) if content.strip() else {}
    if not isinstance(given, dict):
        raise TypeError("the input is no JSON object")
    roots = given.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else ""
    return HookCall(
        HookMoment(moment),
        agent.name,
        _text(given, "session_id", "sessionId", "conversation_id"),
        _text(given, "cwd") or (first if isinstance(first, str) else "") or os.getcwd(),  # noqa: PTH109
        _text(given, "prompt"),
        _text(given, "transcript_path", "transcriptPath"),
        bool(flags),
        *(options.get(name, "") for name in ("--lake", "--graph", "--config")),
    ), agent


def _text(given: Mapping[str, Any], *names: str) -> str:
    found = (given.get(name) for name in names)
    return next((value for value in found if isinstance(value, str) and value), "")


def _answer(call: HookCall, environment: Mapping[str, str], state: Path, alone: AnswerAlone) -> str:
    if call.moment is HookMoment.SESSION_END:
        start_backfill(call, environment, state)
        return ""
    if (answer := _ask_open(call, environment, state)) is not None:
        return answer
    return alone(call)


def _ask_open(call: HookCall, environment: Mapping[str, str], state: Path) -> str | None:
    """Return the answer of an open process; None: there is none."""
    if not hasattr(socket, "AF_UNIX"):
        return None
    folder = socket_folder(state, call.selection, call.directory, environment)
    with suppress(OSError):
        for path in sorted(folder.iterdir(), reverse=True):
            try:
                return _ask(path, call)
            except ConnectionRefusedError:
                path.unlink(missing_ok=True)
            except (OSError, ValueError):
                continue
    return None


def _ask(path: Path, call: HookCall) -> str:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_OPEN_SECONDS)
        connection.connect(str(path))
        connection.sendall(call.encode())
        with connection.makefile("rb") as received:
            answer = json.loads(received.readline(MAX_BYTES))
    if not isinstance(answer, str):
        raise TypeError("no answer")
    return answer


def socket_folder(
    state: Path, selection: Sequence[str], directory: str, environment: Mapping[str, str]
) -> Path:
    """Return the folder of the sockets of processes that have the same history open.

    `selection`: as of a call. The config file of the working directory may name another lake.
    """
    names = ("TURNETL_LAKE", "TURNETL_GRAPH")
    config = selection[2] or Path(directory, _PROJECT_CONFIG)
    given = [*selection[:2], *(environment.get(name, "") for name in names)]
    if Path(config).is_file():
        given.append(str(config))
    digest = blake2b("\0".join(given).encode(), digest_size=6).hexdigest()
    return state / "hooks" / digest


def _encoded(agent: Agent, call: HookCall, text: str) -> str:
    """Return the text as the agent reads it; "" without a text."""
    if not text or agent.hooks is None:
        return ""
    if agent.hooks.answer is not AnswerShape.SPECIFIC:
        return json.dumps({agent.hooks.answer.value: text})
    event = agent.hooks.events[call.moment].name
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})


def _log(state: Path, words: Sequence[str], error: BaseException) -> None:
    """Add a line to the log, which is replaced when it is long."""
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = state / "hooks.log"
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    with suppress(FileNotFoundError):
        if path.stat().st_size > _LOG_BYTES:
            path.unlink()
    with os.fdopen(os.open(path, flags, 0o600), "a", encoding="utf-8") as log:
        message = f"{type(error).__name__}: {error}".replace("\n", " ")
        time = strftime("%Y-%m-%dT%H:%M:%SZ", gmtime())
        log.write(ascii(f"{time} {' '.join(words)}: {message}")[1:-1] + "\n")


def start_backfill(call: HookCall, environment: Mapping[str, str], state: Path) -> None:
    """Start a backfill of what changed, and do not wait; none while another one of it runs.

    Its output is in a log, which each start replaces.
    """
    from turnetl.base import private_files  # noqa: PLC0415 - of this hook only

    private_files.create_folder(state)
    history = socket_folder(state, call.selection, call.directory, environment).name
    with private_files.open_or_create(state / f"backfill-{history}.lock") as lock:
        if sys.platform != "win32":
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
        with private_files.open_or_create(state / f"backfill-{history}.log") as log:
            log.truncate()
            _start(call, lock.fileno(), log.fileno())


def _start(call: HookCall, lock: int, log: int) -> None:
    """Start it in the home folder, or in a folder whose config file may name another lake.

    That one is read only if it is trusted. The folder of an agent may be removed any time.
    """
    import subprocess  # noqa: PLC0415 - of this hook only

    home, here = Path.home(), Path(call.directory)
    for folder in (here, home) if (here / _PROJECT_CONFIG).is_file() else (home,):
        with suppress(OSError):
            subprocess.Popen(
                _command(call),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=folder,
                start_new_session=True,
                # The child keeps the lock until it ends.
                pass_fds=() if sys.platform == "win32" else (lock,),
            )
            return
    raise OSError(f"no backfill can be started in `{home}`")


def _command(call: HookCall) -> list[str]:
    gently = ["nice", "-n", "10"] if os.name == "posix" else []
    # Without -P, Python would import modules from the working directory, which is the agent's.
    program = [sys.executable, "-P", "-m", "turnetl"]
    return [*gently, *program, "backfill", "--yes", *call.options]
