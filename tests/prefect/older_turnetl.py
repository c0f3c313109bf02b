"""A Python path on which an older turnetl is installed, as a worker may have it."""

from pathlib import Path


def older_path(folder: Path, path: str) -> str:
    """Return a PYTHONPATH with the metadata of turnetl 0.0.1 before everything of `path`."""
    metadata = folder / "older" / "turnetl-0.0.1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: turnetl\nVersion: 0.0.1\n")
    return f"{metadata.parent}:{path}"
