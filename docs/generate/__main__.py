"""`python -m docs.generate` writes the pages of docs/ that are generated from the code."""

from pathlib import Path

from docs.generate import api, columns, commands, json_objects

DOCS = Path(__file__).parents[1]
PAGES = {
    "api.md": api.reference,
    "columns.md": columns.reference,
    "commands.md": commands.reference,
    "json.md": json_objects.reference,
}


def main() -> None:
    for name, reference in PAGES.items():
        (DOCS / name).write_text(reference(), encoding="utf-8")


if __name__ == "__main__":
    main()
