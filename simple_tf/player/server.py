"""Serves the page and its requests to a browser, by default on this machine only."""

from __future__ import annotations

import contextlib
import functools
import http.server
import importlib.resources
import json
import socket
import threading
from collections.abc import Collection, Iterator
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from simple_tf.player.api import Api, RequestError

_JSON = "application/json"
_LARGEST_REQUEST = 1 << 16
_THIS_MACHINE = ("127.0.0.1", "localhost")


class AddressError(OSError):
    """The address cannot be served at; the message says why and what to do."""


class Server:
    """A web server with one page, listening from the beginning, answering while it is `running`.

    Args:
        host: the address to listen at.
        port: of it; 0: any that is free.

    Raises:
        AddressError: somebody else listens there, or it is not this machine's.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        self._host = host
        self._lock = threading.Lock()
        try:
            self._server = http.server.ThreadingHTTPServer(
                (host, port), http.server.BaseHTTPRequestHandler
            )
        except OSError as error:
            raise AddressError(
                f"Cannot serve at {host}:{port}: {error.strerror}. --port=0 takes any free port."
            ) from error
        self._server.daemon_threads = True  # Connections that a page keeps open end with us.

    @property
    def url(self) -> str:
        """Where a browser finds the page."""
        everywhere = self._host in ("0.0.0.0", "")
        host = socket.gethostname() if everywhere else self._host
        return (
            f"http://{'localhost' if host in _THIS_MACHINE else host}:{self._server.server_port}/"
        )

    @contextlib.contextmanager
    def running(self, api: Api) -> Iterator[None]:
        """Answers in threads of its own while entered; leaves when the work at hand is done.

        Args:
            api: answers what the page asks for, one request at a time.
        """
        # Another site's name that leads here is not ours: its pages must not play.
        hosts = _THIS_MACHINE if self._host in _THIS_MACHINE else None
        self._server.RequestHandlerClass = functools.partial(_Handler, api, self._lock, hosts)
        thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()
            with self._lock:  # A video may be half written.
                api.close()


class _Handler(http.server.BaseHTTPRequestHandler):
    """One connection, over which many requests may come."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # Or every answer would wait for its last packet's turn.
    wbufsize = -1  # Head and body in one piece.

    def __init__(
        self, api: Api, lock: threading.Lock, hosts: Collection[str] | None, *arguments: Any
    ) -> None:
        self._api, self._lock, self._hosts = api, lock, hosts
        super().__init__(*arguments)

    def do_GET(self) -> None:
        """The page."""
        if urlsplit(self.path).path != "/":
            self._send(HTTPStatus.NOT_FOUND, "text/plain", b"There is only the page at /.")
            return
        page = importlib.resources.files("simple_tf.player") / "page.html"
        self._send(HTTPStatus.OK, "text/html; charset=utf-8", page.read_bytes())

    def do_POST(self) -> None:
        """A request of the page, with JSON: /api/NAME."""
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _LARGEST_REQUEST:
            self.close_connection = True  # Nobody knows where the next request would begin.
            self._send_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "this is no request of the page")
            return
        body = self.rfile.read(int(length))
        # Other sites' pages cannot send this type without asking first, and are not answered.
        if self.headers.get_content_type() != _JSON:
            self._send_error(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"requests are {_JSON}")
            return
        host = (self.headers.get("Host") or "").split(":")[0]
        if self._hosts is not None and host not in self._hosts:
            self._send_error(HTTPStatus.FORBIDDEN, f"this is not {host or 'a machine'}")
            return
        try:
            arguments = json.loads(body)
            with self._lock:
                answer = self._api.answer(self.path.removeprefix("/api/"), arguments)
        except RequestError as error:
            self._send_error(HTTPStatus.BAD_REQUEST, str(error))
        except ValueError:  # Of `json.loads`.
            self._send_error(HTTPStatus.BAD_REQUEST, "this is no JSON")
        except Exception as error:
            self._send_error(HTTPStatus.INTERNAL_SERVER_ERROR, f"{type(error).__name__}: {error}")
            raise
        else:
            self._send(HTTPStatus.OK, _JSON, json.dumps(answer).encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing: a line for every step would hide all else."""

    def _send_error(self, status: HTTPStatus, sentence: str) -> None:
        self._send(status, _JSON, json.dumps({"error": sentence}).encode())

    def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        # Who has closed the page does not wait for the answer.
        with contextlib.suppress(ConnectionError):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()
