"""A format as `turnetl.formats` lists it: what it is called, and where its reader is."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

from turnetl.base.results import described

if TYPE_CHECKING:
    from turnetl.formats.base import ParsedArchive, Probe, Reader


@dataclass(frozen=True, slots=True)
class Format:
    """A format of archives.

    Its reader is imported when the first archive is examined.
    """

    name: Annotated[str, described("Name of the format, as --format takes it.")]
    title: Annotated[str, described("The agent or export that writes it.")]
    version: int
    """Increased when the same bytes give different turns, so that archives are read again."""
    reader: str
    """Its `formats.base.Reader`: the module within this package, a colon and the class."""

    def sniff(self, probe: "Probe") -> bool:
        """Return whether an archive that starts like this has this format."""
        return self._reader().sniff(probe)

    def read(self, data: bytes) -> "ParsedArchive":
        """Read a whole archive; content that cannot be read is counted.

        Raises:
            TooManyRows: as `Reader.read`.
        """
        return self._reader().read(data)

    def _reader(self) -> "Reader":
        module, _, name = self.reader.partition(":")
        reader: Reader = getattr(import_module(f"turnetl.formats.{module}"), name)()
        return reader


@dataclass(frozen=True, slots=True)
class FormatsReport:
    """The formats that turnetl reads."""

    formats: Annotated[tuple[Format, ...], described("The formats.")]
