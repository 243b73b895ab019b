# SPDX-License-Identifier: GPL-2.0
"""A small client of QEMU's monitor protocol, for plugging and the like."""

import json
import socket
from typing import Any


class QmpError(Exception):
    """QEMU refused a command; str() is its description."""


class Qmp:
    """Speaks QMP on a connected socket; commands are answered in order."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(30)
        self._file = connection.makefile("rw", encoding="utf-8")
        self.events: list = []
        self._greeted = False

    def __call__(self, command: str, **arguments: Any) -> Any:
        """Run a command (device_del, system_reset, ...), return its answer."""
        if not self._greeted:
            self._file.readline()
            self._greeted = True
            self("qmp_capabilities")
        self._file.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self._file.flush()
        while True:
            line = self._file.readline()
            if not line:
                raise QmpError("QEMU has ended")
            answer = json.loads(line)
            if "error" in answer:
                raise QmpError(answer["error"]["desc"])
            if "return" in answer:
                return answer["return"]
            self.events.append(answer)
