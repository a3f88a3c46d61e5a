"""`make bench`: every benchmark in one run."""

from __future__ import annotations

import argparse

from bench import codec


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--scale", choices=("small", "medium", "large"), default="small")
    parser.parse_args()
    codec.main()


if __name__ == "__main__":
    main()
