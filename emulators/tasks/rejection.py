"""How a request is refused."""

from __future__ import annotations

import grpc


class Rejection(Exception):  # noqa: N818  # an answer of the API, not a failure of the emulator
    """Becomes the status of the call."""

    def __init__(self, code: grpc.StatusCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def invalid(message: str) -> Rejection:
    return Rejection(grpc.StatusCode.INVALID_ARGUMENT, message)


def unimplemented(message: str) -> Rejection:
    return Rejection(grpc.StatusCode.UNIMPLEMENTED, f"The emulator does not do this: {message}.")


def not_found(message: str) -> Rejection:
    return Rejection(grpc.StatusCode.NOT_FOUND, message)


def exists(message: str) -> Rejection:
    return Rejection(grpc.StatusCode.ALREADY_EXISTS, message)
