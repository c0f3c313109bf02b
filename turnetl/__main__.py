"""`python -m turnetl`."""

from turnetl.cli import main

if __name__ == "__main__":
    main()
