"""A second start of the program: hand the file to the window that is open, or open another one.

The first window listens on a local socket (a named pipe on Windows) that only this user can
reach. The second start sends it one JSON line and ends. Nothing crosses the network.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtNetwork import QLocalServer, QLocalSocket

CONNECT_MS = 300
ANSWER_MS = 2000
MAX_BYTES = 65_536

Take = Callable[[Path | None], None]


def server_name(home: Path) -> str:
    """One name a user and a home folder, short enough for every system's limit."""
    who = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "")
    digest = hashlib.sha256(f"{who}\n{home}".encode()).hexdigest()[:16]
    return f"decodescope-{digest}"


def hand_over(name: str, session: Path | None) -> bool:
    """Ask the window that listens under `name` to come to the front and open `session`.

    True when it said that it will. False when there is none: then this start goes on by itself.
    """
    socket = QLocalSocket()
    socket.connectToServer(name)
    if not socket.waitForConnected(CONNECT_MS):
        return False
    path = None if session is None else str(session.absolute())
    socket.write(json.dumps({"open": path}).encode() + b"\n")
    socket.flush()
    answered = socket.waitForReadyRead(ANSWER_MS) and bytes(socket.readLine().data()).strip() == b"ok"
    socket.disconnectFromServer()
    return bool(answered)


class SecondStarts(QObject):
    """Listens for later starts; `take(session or None)` is called on the GUI thread for each."""

    def __init__(self, name: str, take: Take, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._take = take
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._on_connection)
        # Listening would take the name over from a window that answers to it.
        if not _answers(name):
            QLocalServer.removeServer(name)  # left behind by a window that was killed
            self._server.listen(name)

    @property
    def listening(self) -> bool:
        """False where another window listens already, or the system refuses."""
        return self._server.isListening()

    def close(self) -> None:
        """Listen no more."""
        self._server.close()

    def _on_connection(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            socket.setParent(self)
            socket.readyRead.connect(self._on_ready)
            socket.disconnected.connect(socket.deleteLater)
            self._look_at(socket)

    def _on_ready(self) -> None:
        for socket in self.findChildren(QLocalSocket):
            self._look_at(socket)

    def _look_at(self, socket: QLocalSocket) -> None:
        if not socket.canReadLine():
            if socket.bytesAvailable() > MAX_BYTES:
                socket.disconnectFromServer()
            return
        try:
            value = json.loads(bytes(socket.readLine(MAX_BYTES).data()))
            path = value["open"]
        except (ValueError, KeyError, TypeError):
            socket.disconnectFromServer()
            return
        socket.write(b"ok\n")
        socket.flush()
        self._take(Path(path) if isinstance(path, str) else None)


def _answers(name: str) -> bool:
    socket = QLocalSocket()
    socket.connectToServer(name)
    return bool(socket.waitForConnected(CONNECT_MS))
