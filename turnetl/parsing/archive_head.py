"""Large files that are no archives: the head shows it, so that the rest is not read."""

from turnetl.formats.kit.documents import is_document
from turnetl.lake import ArchiveMetadata
from turnetl.parsing import problems, sources
from turnetl.parsing.options import ParseOptions
from turnetl.parsing.sources import ArchiveStat

_DETECTION_LINES = 64
"""Lines that are enough to detect the format of an archive of lines."""


def check_head(stat: ArchiveStat, previous: ArchiveMetadata | None, options: ParseOptions) -> None:
    """Reject a large file without reading all of it, if its head shows that it is no archive.

    Raises:
        BadArchive: no format can have such a head.
    """
    if stat.size <= sources.HEAD_BYTES or not stat.is_file:
        return
    head = sources.read_head(stat, options.files)
    if options.detect_format(head, previous) is None and not _rest_may_decide(head):
        raise problems.unknown_format(stat.path, head)


def _rest_may_decide(head: bytes) -> bool:
    """Return whether the format may depend on what follows the head.

    The first lines decide the format of an archive of lines. The keys of a document decide its
    format, and they may come last.
    """
    return head.count(b"\n") < _DETECTION_LINES or is_document(head)
