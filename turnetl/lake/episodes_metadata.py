"""New metadata for an episodes table whose rows stay."""

from collections.abc import Mapping

from turnetl.base import schema
from turnetl.base.model import GroupId
from turnetl.lake.lake import Lake
from turnetl.lake.parquet import replace_metadata
from turnetl.lake.versions import metadata_text


def replace_episodes_metadata(
    lake: Lake, group: GroupId, before: Mapping[str, str], after: Mapping[str, str]
) -> bool:
    """Replace the metadata of an episodes table, verified; False: the new one is not as long."""
    old, new = (metadata_text(values, schema.EPISODES) for values in (before, after))
    if len(old.encode()) != len(new.encode()):
        return False
    path = lake.episodes_path(group)
    lake.files.fetch([path])
    replace_metadata(path, old, new, lake.files.replace)
    lake.files.sync(path.parent)
    return True
