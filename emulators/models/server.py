"""Both providers on one port."""

from __future__ import annotations

from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from emulators.models import anthropic, openai
from emulators.models.script import Fault, Script
from emulators.serving import AsgiServer


class ModelStubs:
    """The stubs on a thread; each has its own script and log.

    >>> with ModelStubs() as stubs:
    ...     stubs.openai.then(Fault.rate_limited(retry_after=1))
    ...     environment = stubs.environment()
    """

    def __init__(self, port: int = 0) -> None:
        self.openai = Script()
        self.anthropic = Script()
        self._server = AsgiServer(self.app(), port)

    @property
    def openai_url(self) -> str:
        """For the SDK's `base_url`."""
        return f"{self._server.url}/openai/v1"

    @property
    def anthropic_url(self) -> str:
        """For the SDK's `base_url`."""
        return f"{self._server.url}/anthropic"

    def environment(self) -> dict[str, str]:
        """The variables that send a process's calls here."""
        return {
            "OPENAI_API_KEY": "sk-stub",
            "OPENAI_BASE_URL": self.openai_url,
            "ANTHROPIC_API_KEY": "sk-ant-stub",
            "ANTHROPIC_BASE_URL": self.anthropic_url,
        }

    def start(self) -> None:
        self._server.start()

    def stop(self) -> None:
        self._server.stop()

    def __enter__(self) -> ModelStubs:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Mount("/openai", routes=openai.routes(self.openai)),
                Mount("/anthropic", routes=anthropic.routes(self.anthropic)),
                Route("/control/calls", self._show, methods=["GET"]),
                Route("/control/faults", self._add, methods=["POST"]),
                Route("/control/reset", self._reset, methods=["POST"]),
            ]
        )

    async def _show(self, _: Request) -> Response:
        return JSONResponse({name: _shown(script) for name, script in self._scripts().items()})

    async def _add(self, request: Request) -> Response:
        """`{"provider": "openai", "faults": [{"name": …, "status": 429, …}, null]}`."""
        wanted: dict[str, Any] = await request.json()
        faults = [None if fault is None else Fault(**fault) for fault in wanted["faults"]]
        self._scripts()[wanted["provider"]].then(*faults)
        return JSONResponse({"added": len(faults)})

    async def _reset(self, _: Request) -> Response:
        for script in self._scripts().values():
            script.reset()
        return JSONResponse({})

    def _scripts(self) -> dict[str, Script]:
        return {"openai": self.openai, "anthropic": self.anthropic}


def _shown(script: Script) -> dict[str, Any]:
    return {
        "count": len(script.calls),
        "calls": [{"path": c.path, "texts": list(c.texts), "fault": c.fault} for c in script.calls],
    }
