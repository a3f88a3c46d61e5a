"""A PostgreSQL server with a database of its own."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final

from tests.lake.servers.server import HOST, MissingError, Server, find_free_port

COMMAND: Final = "apt-get install postgresql"
# Debian puts the programs of each version into a folder that is not on the path.
_FOLDERS: Final = ("/usr/lib/postgresql", "/opt/homebrew/opt", "/usr/local/opt")


def find_program(name: str) -> str:
    """Finds a program of PostgreSQL, of its newest version."""
    found = [path for folder in _FOLDERS for path in Path(folder).glob(f"*/bin/{name}")]
    if found:
        return str(max(found, key=lambda path: _read_version(path.parts[-3])))
    program = shutil.which(name)
    if program is None:
        raise MissingError("there is no PostgreSQL", COMMAND)
    return program


def _read_version(folder: str) -> int:
    digits = re.search(r"\d+", folder)
    return int(digits[0]) if digits else 0


class PostgresServer:
    """The server. It refuses to run as root, so root starts it as another user.

    Attributes:
        address: The JDBC URL of the database.
    """

    def __init__(self, folder: Path) -> None:
        initdb, postgres = find_program("initdb"), find_program("postgres")
        port = find_free_port()
        self.address = f"jdbc:postgresql://{HOST}:{port}/postgres"
        self.user = "postgres"
        # Another user may not enter the folder of the tests.
        self._data = Path(tempfile.mkdtemp(prefix="rowdelta-postgres-"))
        options = _choose_user(self._data)
        subprocess.run(
            [initdb, "-A", "trust", "-U", self.user, "-E", "UTF8", "--no-sync", "-D", str(self._data)],
            check=True,
            capture_output=True,
            cwd=self._data,
            **options,
        )
        settings = {
            "listen_addresses": HOST,
            "port": str(port),
            "unix_socket_directories": "",
            "fsync": "off",
        }
        command = [postgres, "-D", str(self._data)]
        for key, value in settings.items():
            command += ["-c", f"{key}={value}"]
        # At SIGTERM, it would wait for the catalog's connections to end.
        popen = {"cwd": self._data, **options}
        self.server = Server("postgres", command, folder, port, options=popen, ending=signal.SIGINT)

    def wait(self) -> None:
        """Waits until the server accepts connections."""
        self.server.wait_for_log("ready to accept connections")

    def remove(self) -> None:
        """Removes the database, after the server has stopped."""
        shutil.rmtree(self._data, ignore_errors=True)


def _choose_user(folder: Path) -> dict[str, Any]:
    """Returns the options that run a program as a user who is not root, and gives this user the folder."""
    if os.getuid():
        return {}
    names = {entry.pw_name for entry in pwd.getpwall()}
    user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    os.chown(folder, user.pw_uid, user.pw_gid)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
