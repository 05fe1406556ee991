"""What the routes of the chat function need of the container."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # the API's description reads the routes, and needs no index
    from shared.answer.flow import AnswerDeps
    from shared.retrieve.flow import RetrieveDeps

    class ChatDeps(AnswerDeps, RetrieveDeps, Protocol):
        """Both: an answer retrieves on its way."""
