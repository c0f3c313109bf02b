"""`turnetl`, and `python -m turnetl`."""

import sys

from turnetl.base.exit_code import ExitCode
from turnetl.base.glibc import share_heap


def main() -> None:
    """Run the command; Ctrl-C before it has been imported is no traceback, either."""
    share_heap()  # before the first import that starts threads
    try:
        from turnetl.cli import main as run  # noqa: PLC0415 - takes a quarter of a second
    except KeyboardInterrupt:
        print("turnetl: stopped before it began", file=sys.stderr)  # noqa: T201 - no console yet
        sys.exit(ExitCode.INTERRUPTED)
    run()


if __name__ == "__main__":
    main()
