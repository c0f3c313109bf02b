"""New metadata for an episodes table whose rows stay."""

from collections.abc import Mapping
from pathlib import Path

from turnetl import schema
from turnetl.lake.parquet import replace_metadata
from turnetl.lake.temporary import sync_folder
from turnetl.lake.versions import metadata_text
from turnetl.model import GroupId


def replace_episodes_metadata(
    episodes_folder: Path, group: GroupId, before: Mapping[str, str], after: Mapping[str, str]
) -> bool:
    """Replace the metadata of a group's episodes table; return whether that is possible.

    It is if the new metadata is as long as that of the table. All rows are verified.

    Raises:
        TableUnusable: the table is damaged, or has other metadata by now.
        Fatal: it cannot be written.
    """
    old, new = (metadata_text(values, schema.EPISODES) for values in (before, after))
    if len(old.encode()) != len(new.encode()):
        return False
    replace_metadata(episodes_folder / f"{group}.parquet", old, new, episodes_folder.parent)
    sync_folder(episodes_folder)
    return True
