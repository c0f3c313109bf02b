"""`turnetl`, and `python -m turnetl`."""

import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from turnetl.base.exit_code import ExitCode
from turnetl.base.glibc import share_heap

if TYPE_CHECKING:  # see `main`
    from turnetl.install.hook_call import HookCall


def main() -> None:
    """Run the command; Ctrl-C before it has been imported is no traceback, either."""
    gc.set_threshold(200_000)  # more objects than imports create, none of which is garbage
    environment = os.environ  # noqa: TID251 - that of libraries and of the agent
    # All products of numpy are small: further threads only wait for each other.
    environment.setdefault("OPENBLAS_NUM_THREADS", "1")
    if sys.argv[1:2] == ["hook"]:
        # An agent waits for it at each prompt: it does without the command line, and pydantic
        # without reading the metadata of all packages, for plugins.
        environment.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
        from turnetl.install.hook_call import main as answer  # noqa: PLC0415 - of this command only

        answer(sys.argv[2:], environment, Path.home(), _answer_alone)
    share_heap()  # before the first import that starts threads
    try:
        from turnetl.cli import main as run  # noqa: PLC0415 - takes a quarter of a second
    except KeyboardInterrupt:
        print("turnetl: stopped before it began", file=sys.stderr)  # noqa: T201 - no console yet
        sys.exit(ExitCode.INTERRUPTED)
    run()


def _answer_alone(call: "HookCall") -> str:
    from turnetl.mcp.hooks import answer_alone  # noqa: PLC0415 - takes a third of a second

    return answer_alone(call)


if __name__ == "__main__":
    main()
