"""The emulator's own HTTP endpoint: `DELETE /emulator/v1/projects/{p}/databases/{d}/documents` clears a
database.

gRPC speaks HTTP/2 alone on its port, so this has a port of its own.
"""

from __future__ import annotations

import re
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

from emulators.firestore.names import DatabaseName
from emulators.firestore.store import Store

_POLL_SECONDS = 0.02
"""How often the endpoint looks whether it should close; a request wakes it at once."""

_CLEAR = re.compile(r"/emulator/v1/projects/([^/]+)/databases/([^/]+)/documents")


class HttpEndpoint:
    """Serves in a thread of its own until closed. `host` is "127.0.0.1:PORT"."""

    def __init__(self, store: Store, port: int) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_DELETE(self) -> None:
                match = _CLEAR.fullmatch(unquote(self.path.partition("?")[0]))
                if match is None:
                    self._answer(404, b'{"error": "not found"}')
                    return
                store.clear(DatabaseName(*match.groups()))
                self._answer(200, b"{}")

            def do_GET(self) -> None:
                """The official emulator answers so on its root; scripts wait for it."""
                self._answer(200, b"Ok\n")

            def _answer(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        serve = partial(self._server.serve_forever, poll_interval=_POLL_SECONDS)
        self._thread = threading.Thread(target=serve, name="firestore-http", daemon=True)
        self._thread.start()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
