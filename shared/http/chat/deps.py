"""What the routes of the chat function need of the container."""

from __future__ import annotations

from typing import Protocol

from shared.answer.flow import AnswerDeps
from shared.retrieve.flow import RetrieveDeps


class ChatDeps(AnswerDeps, RetrieveDeps, Protocol):
    """Both: an answer retrieves on its way."""
