"""`python -m turnetl.json_output` prints the reference of all `--json` objects, docs/json.md."""

import sys

from turnetl.json_output.reference import reference

if __name__ == "__main__":
    sys.stdout.write(reference())
