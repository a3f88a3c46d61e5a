"""`python -m rowdelta` is the same as `rowdelta`."""

from rowdelta.cli import main

if __name__ == "__main__":
    main()
