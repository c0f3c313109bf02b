"""The file of an embedded graph: whether it is as turnetl left it, and whether it can be read."""

from collections.abc import Iterator, Sequence

from turnetl.graph.open import embedded_file
from turnetl.settings import Settings
from turnetl.verification.check import Check
from turnetl.verification.file_problem import FileProblem


def graph_file_problems(settings: Settings) -> Iterator[FileProblem]:
    """Yield what is wrong with the file of an embedded graph; a server has its own checks.

    Raises:
        GraphBusy: another process writes it.
        GraphUnusable: its lock cannot be used.
    """
    path = embedded_file(settings.graph_url)
    if path is None or not path.exists():
        return
    # Only here: it imports the database.
    from turnetl.graph.ladybug.check import check_file  # noqa: PLC0415 - as above
    from turnetl.graph.ladybug.checksum import (  # noqa: PLC0415 - as above
        ChecksumMatch,
        checksum_path,
    )

    found = check_file(path)
    if found.problem is not None:
        remedy = "restore it from a backup; keep the damaged file until that is done"
        if found.is_emptied:
            remedy = (
                f"restore it from a backup, or move it and `{checksum_path(path)}` away: `turnetl "
                "ingest` then fills a new graph with the turns of the lake"
            )
        yield FileProblem(Check.UNREADABLE_GRAPH, path, str(path), found.problem, remedy)
    elif found.comparison is ChecksumMatch.DAMAGED:
        problem = "differs from what turnetl wrote, as no program changes it; it can be read"
        remedy = f"to take it as it is all the same, move `{checksum_path(path)}` away"
        yield FileProblem(Check.DAMAGED_GRAPH, path, str(path), problem, remedy)
    elif found.comparison is ChecksumMatch.CHANGED:
        problem = "is not as it was when turnetl closed it"
        yield FileProblem(Check.CHANGED_GRAPH, path, str(path), problem)
    elif found.comparison is ChecksumMatch.UNRECORDED:
        problem = "has no checksum; all of it was read"
        yield FileProblem(Check.UNRECORDED_GRAPH, path, str(path), problem)


def accept_graph(settings: Settings, problems: Sequence[FileProblem]) -> None:
    """Record the checksum of a changed graph as it is.

    Raises:
        GraphBusy: another process has it open.
        GraphUnusable: its lock cannot be used.
    """
    path = embedded_file(settings.graph_url)
    accepted = (Check.CHANGED_GRAPH, Check.UNRECORDED_GRAPH)
    if path is None or not any(problem.check in accepted for problem in problems):
        return
    from turnetl.graph.ladybug import checksum  # noqa: PLC0415 - as above
    from turnetl.graph.ladybug.file import lock_graph  # noqa: PLC0415 - as above

    lock = lock_graph(path, write=True)
    try:
        checksum.accept(path)
    finally:
        if lock is not None:
            lock.close()
