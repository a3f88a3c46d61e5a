"""Starts Spark once, so that the Java packages are on this machine.

Two sessions that start at once on a new machine would download the same files, and one would read what the other has
half written.
"""

from __future__ import annotations

import tempfile

import rowdelta as rd


def main() -> None:
    """Starts a session with all packages, and stops it."""
    with tempfile.TemporaryDirectory() as warehouse:
        rd.session(warehouse, delta=True).stop()


if __name__ == "__main__":
    main()
