"""The one error that ends an RPC, and the statuses that the client maps to its exceptions."""

from __future__ import annotations

import grpc


class RpcError(Exception):
    """Ends the RPC with a status. The client raises the exception of that status with this message."""

    def __init__(self, code: grpc.StatusCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def invalid(message: str) -> RpcError:
    return RpcError(grpc.StatusCode.INVALID_ARGUMENT, message)


def not_found(message: str) -> RpcError:
    return RpcError(grpc.StatusCode.NOT_FOUND, message)


def already_exists(message: str) -> RpcError:
    return RpcError(grpc.StatusCode.ALREADY_EXISTS, message)


def failed_precondition(message: str) -> RpcError:
    return RpcError(grpc.StatusCode.FAILED_PRECONDITION, message)


def aborted(message: str) -> RpcError:
    return RpcError(grpc.StatusCode.ABORTED, message)


def unimplemented(message: str) -> RpcError:
    return RpcError(grpc.StatusCode.UNIMPLEMENTED, message)
