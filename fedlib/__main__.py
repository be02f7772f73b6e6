"""`python -m fedlib`."""

import sys

from fedlib.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
