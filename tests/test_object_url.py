"""URLs of folders in object stores."""

from pathlib import Path

import pytest

from turnetl.object_url import ObjectUrl, cache_folder, object_url, shown_name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s3://bucket/team/lake", ObjectUrl("s3", "bucket", "team/lake")),
        ("S3://bucket/lake/", ObjectUrl("s3", "bucket", "lake")),
        ("gs://b", ObjectUrl("gs", "b", "")),
        ("az://container/a b/x=1", ObjectUrl("az", "container", "a b/x=1")),
        ("/home/me/lake", None),
        ("https://host/lake", None),
        ("file:x", None),
    ],
)
def test_a_url_names_a_bucket_and_a_prefix(text: str, expected: ObjectUrl | None) -> None:
    assert object_url(text) == expected
    if "//" in text:
        assert object_url(Path(text)) == expected


@pytest.mark.parametrize(
    "text",
    ["s3://", "s3:///lake", "s3://key:secret@b/x", "s3://b/../x", "s3://b/x?a=1", "gs://b//x"],
)
def test_a_url_that_names_no_folder_is_refused_without_its_text(text: str) -> None:
    with pytest.raises(ValueError, match=r"must be `\w\w://bucket/prefix`") as refused:
        object_url(text)
    assert "secret" not in str(refused.value)


def test_copies_are_in_the_cache_of_the_user() -> None:
    assert cache_folder({}, Path("/home/me")) == Path("/home/me/.cache/turnetl-objects")
    assert cache_folder({"XDG_CACHE_HOME": "/c"}, Path("/h")) == Path("/c/turnetl-objects")
    assert cache_folder({"XDG_CACHE_HOME": "c"}, Path("/h")) == Path("/h/.cache/turnetl-objects")


def test_a_copy_is_shown_by_its_url() -> None:
    folder = ObjectUrl("s3", "b", "lake").below(Path("/c/turnetl-objects"))
    assert shown_name(folder / "turns" / "x.parquet") == "s3://b/lake/turns/x.parquet"
    assert shown_name(Path("/x/s3/b")) == "/x/s3/b"
    assert shown_name(Path("/c/turnetl-objects")) == "/c/turnetl-objects"
