"""What stands in for a model that sees: a refusal that says what is missing."""

from __future__ import annotations

from typing import NoReturn

from shared.domain.errors import ModelRejectedError
from shared.domain.media import DescribeRequest


class NoImages:
    """`ports.ImageDescriber` where no model is configured: no local one sees images."""

    name = "none"

    def describe(self, request: DescribeRequest) -> NoReturn:
        del request
        raise ModelRejectedError(
            "No model that sees images is configured.", hint="Set ANTHROPIC_API_KEY for the deployment."
        )
