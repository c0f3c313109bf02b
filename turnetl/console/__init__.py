"""The terminal: how a command runs, what it prints, and how it ends.

Results go to standard output, as tables or with `--json` as one object. Messages, the log and
progress bars go to standard error. No other package prints.
"""

from turnetl.console.log import unique_messages
from turnetl.console.output import (
    confirm,
    is_interactive,
    print_messages,
    print_result,
    print_text,
    print_view,
    run_program,
    show_progress,
)
from turnetl.console.run import interruptible, run, run_async
