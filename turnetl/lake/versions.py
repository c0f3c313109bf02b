"""The schema version that a file stores. A file of another version is rejected, never migrated."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from turnetl import schema
from turnetl.errors import Fatal
from turnetl.object_url import shown_name

KEY = "schema"
"""The key of the version in the JSON object that a file stores as its metadata."""


class _StoredVersion(msgspec.Struct, rename={"version": KEY}):
    version: int | str = "0"
    """0: written before tables stored their version."""


def check_version(path: Path, metadata: str, table: schema.Table) -> None:
    """Raise `Fatal` if a file stores another schema version than the table's.

    Args:
        path: the file, for the message.
        metadata: its metadata. Text that is not a JSON object passes: turnetl did not write the
            file.
        table: the table that the file belongs to.
    """
    try:
        version = msgspec.json.decode(metadata, type=_StoredVersion).version
    except msgspec.DecodeError:
        return
    if str(version) != str(table.version):
        raise Fatal(
            f"`{shown_name(path)}` has version {version} of the `{table.name}` table, but this "
            f"turnetl reads version {table.version}: delete the lake or name a new one with "
            "--lake, then run `turnetl parse` again."
        )


def metadata_text(metadata: Mapping[str, str], table: schema.Table) -> str:
    """Return the metadata of a table as it is stored, with the version of its schema."""
    versioned = {KEY: str(table.version), **metadata}
    return msgspec.json.encode(versioned, order="sorted").decode()
