"""The list of forgotten turns of a lake."""

from pathlib import Path

import pytest

from turnetl.base.errors import Fatal
from turnetl.lake import LocalFiles
from turnetl.lake.forgotten import FILE, NOTHING, write_forgotten


def test_a_list_that_cannot_be_written_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(Fatal, match=r"forgotten.json`, cannot be written .* repeat the command"):
        write_forgotten(LocalFiles(tmp_path), NOTHING)
