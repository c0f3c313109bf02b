"""`python -m turnetl.cli`."""

from turnetl.cli import main

main()
