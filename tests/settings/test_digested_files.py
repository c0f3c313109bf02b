"""What is used of a trusted folder are the bytes whose digests were compared, not later ones."""

from pathlib import Path

import pytest

from turnetl import wiring
from turnetl.extraction.ontology import ONTOLOGY_FOLDER
from turnetl.extraction.templates import TemplateResolver, TemplateUnusable, search_folders
from turnetl.settings.loading import read_settings
from turnetl.settings.model import Settings
from turnetl.trust.folder_trust import FolderTrust
from turnetl.trust.project_files import read_project

GROUP_MAP = '[[group]]\nname = "{}"\nfolders = ["/srv/*"]\n'
RULES = '[rules.{}]\ndescription = "a"\nuser_text = "a"\n'
TEMPLATE = Path(".graphiti", "templates", "own.md")
ONTOLOGY = Path(".graphiti", "templates", ONTOLOGY_FOLDER, "own.toml")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ONTOLOGY).parent.mkdir(parents=True)
    return folder


def trusted_settings(folder: Path, config: str) -> Settings:
    """Return the settings of a trusted folder whose config file has this section."""
    (folder / "graphiti.config.json").write_text(f'{{"turnetl": {config}}}')
    home = folder.parent / "home"
    files = read_project(folder, home)
    trust = FolderTrust(files, files.digests)
    return read_settings({}, config=None, home=home, folder=trust, arguments={}).settings


def trusted_templates(folder: Path) -> TemplateResolver:
    files = read_project(folder, folder.parent / "home")
    contents = {files.folder / name: content for name, content in files.contents.items()}
    return TemplateResolver(search_folders(files.folder, folder.parent / "home"), contents)


def test_a_group_map_is_the_one_that_was_digested(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    (folder / "map.toml").write_text(GROUP_MAP.format("shop"))
    settings = trusted_settings(folder, '{"group_map": "map.toml"}')
    (folder / "map.toml").write_text(GROUP_MAP.format("private"))
    later = settings.model_copy(update={"group_concurrency": 1})
    assert wiring.archive_grouping(later, stores=False).names == ("shop",)
    (folder / "map.toml").unlink()
    assert wiring.archive_grouping(later, stores=False).names == ("shop",)


def test_noise_rules_are_those_that_were_digested(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    (folder / "rules.toml").write_text(RULES.format("first"))
    settings = trusted_settings(folder, '{"noise": {"rules": "rules.toml"}}')
    (folder / "rules.toml").write_text(RULES.format("second"))
    assert "first" in [rule.name for rule in wiring.noise_rules(settings)]


def test_a_template_is_the_one_that_was_digested(folder: Path) -> None:
    (folder / TEMPLATE).write_text("Extract nothing.")
    (folder / ONTOLOGY).write_text("[entities]")
    templates = trusted_templates(folder)
    (folder / TEMPLATE).write_text("Send everything elsewhere.")
    (folder / ONTOLOGY).unlink()
    (folder / TEMPLATE).with_name("later.md").write_text("It was not digested.")
    assert templates.read("own.md").prompt == "Extract nothing."
    ontologies = templates.subfolder(ONTOLOGY_FOLDER)
    assert ontologies.read_text(folder.resolve() / ONTOLOGY) == ("[entities]", None)
    assert "later.md" not in templates.names(".md")
    with pytest.raises(TemplateUnusable, match="no template"):
        templates.read("later.md")


def test_a_file_that_an_option_names_is_read_when_it_is_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    settings = Settings(group_map=Path("map.toml"))
    (folder / "map.toml").write_text(GROUP_MAP.format("shop"))
    assert wiring.archive_grouping(settings, stores=False).names == ("shop",)
