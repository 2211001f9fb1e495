"""The `buflend` command: comparisons and dashboards measured on the machine they are shown on.

This file is all of it that is in the wheel: the measurements are larger than the library, and are run from a clone.
"""

import sys


def main() -> int:
    """Run the command and return its exit code; 2 where its parts are not installed."""
    try:
        from .cli import main as run
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.cli":
            raise
        sys.stderr.write(
            "buflend: the measurements are not part of the installed library: in a clone of the repository, "
            "run `make compare`, or install it with `pip install -e '.[bench]'`\n"
        )
        return 2
    return run()
