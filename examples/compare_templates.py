"""What a template finds that no instructions do not, in the same turns, and for how many tokens.

python examples/compare_templates.py lake bookshop

The model is the one that the command line would use: its environment and config file. The journal
of the lake keeps the responses: a second comparison costs nothing.
"""

import asyncio
import sys
from pathlib import Path

import turnetl

TEMPLATE = "default-session-turn.md"


async def main(lake: Path, group: str) -> None:
    settings = turnetl.load_settings(lake=lake)
    comparison = await turnetl.compare_templates(TEMPLATE, "none", settings, group=group, sample=5)
    print(f"{len(comparison.turns)} turns of {group}, by {comparison.model}")
    for template in comparison.templates:
        print(f"\n{template.name}")
        print(f"  {template.entities} entities, {template.facts} facts")
        print(f"  {template.usage.tokens} tokens")
        for only in template.only_facts[:3]:
            print(f"  only here: {only.text}")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
