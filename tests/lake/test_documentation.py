"""docs/data-model.md describes the metadata of a turns file; docs/columns.md has the columns."""

from pathlib import Path

from turnetl.lake import ArchiveMetadata

PAGE = Path(__file__).parents[2] / "docs" / "data-model.md"


def test_the_metadata_of_a_turns_file_is_documented() -> None:
    text = PAGE.read_text()
    fields = ArchiveMetadata.__dataclass_fields__
    assert [name for name in fields if f"`{name}`" not in text] == []
