"""The lake: Parquet tables, written atomically, self-describing and checked on every access."""

from typing import TYPE_CHECKING

from turnetl.base.lazy_exports import lazy_exports
from turnetl.lake.episodes_tables import (
    CHUNK_COUNT,
    episode_from_row,
    replace_episodes_metadata,
    turn_from_row,
)
from turnetl.lake.files import LakeFiles, LocalFiles
from turnetl.lake.lake import Batch, Lake
from turnetl.lake.parquet import write_error
from turnetl.lake.paths import (
    QUARANTINE,
    absolute_path_text,
    archive_digest,
    archive_digests,
    is_object,
)
from turnetl.lake.table_checks import set_aside, set_aside_files
from turnetl.lake.temporary import replace_file, temporary_folder
from turnetl.lake.versions import ArchiveMetadata, TurnFile

if TYPE_CHECKING:
    from turnetl.lake.parquet_writer import arrow_schema

__getattr__ = lazy_exports(__name__)
