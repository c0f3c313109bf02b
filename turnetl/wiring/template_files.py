"""The files of templates/ and those that replace them, as searches and extraction read them."""

from pathlib import Path
from typing import TYPE_CHECKING

from turnetl.base.errors import BadUsage
from turnetl.extraction.templates import TEMPLATES_FOLDER, TemplateResolver, search_folders
from turnetl.settings import project_trust

if TYPE_CHECKING:  # a run that does not search does without these
    from turnetl.retrieval.query import Thesaurus

THESAURUS = "thesaurus.txt"


def templates() -> TemplateResolver:
    """Return the resolver of templates: those of the project if it is trusted, the user's, ours."""
    home, trust = Path.home(), project_trust()
    project, folder = trust.used, f"{TEMPLATES_FOLDER.as_posix()}/"
    # In the home folder, the templates are the user's own and are not among what was trusted.
    if project is None or project.folder == home.resolve():
        ignored = {name.removeprefix(folder): text for name, text in trust.ignored.items()}
        return TemplateResolver(search_folders(None, home), ignored=ignored)
    contents = {project.folder / name: content for name, content in project.contents.items()}
    return TemplateResolver(search_folders(project.folder, home), contents)


def thesaurus() -> "Thesaurus":
    """Return the words that stand for each other in a search: the user's, or the built-in ones.

    Raises:
        BadUsage: the file cannot be read, or a line is not valid.
    """
    from turnetl.retrieval.query import Thesaurus, parse_thesaurus

    resolver = templates()
    path = resolver.find(THESAURUS)
    if path is None:
        return Thesaurus()
    text, problem = resolver.read_text(path)
    if text is None:
        raise BadUsage(f"thesaurus `{path}` {problem}")
    return parse_thesaurus(text, str(path))
