"""`rowdelta demo`."""

from __future__ import annotations

from rowdelta.cli.options import app


@app.command(epilog="Example: `rowdelta demo`")
def demo() -> None:
    """Run the tour: a small warehouse of its own, deletes, and what they look like."""
    from rowdelta.cli.demo import run

    run()
