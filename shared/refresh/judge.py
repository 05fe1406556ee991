"""Whether an answer is the page that was asked for, or something in its place: an error, a login, another
site."""

from __future__ import annotations

import re

from shared.domain.errors import AlmanacError, FetchFailedError
from shared.domain.text import Extraction
from shared.domain.web_url import WebUrl, same_site
from shared.ports import Fetched

# Characters of text up to which a page may be nothing but a form or a notice.
_SHORT = 1_000
_LOGIN_PATH = re.compile(
    r"(?:^|/|[._-])(?:log[-_]?in|sign[-_]?in|sign[-_]?on|logon|sso|saml2?|oauth2?|openid(?:-connect)?|adfs|auth(?:n|enticate"
    r"|orize|entication)?|session/new|wp-login(?:\.php)?|anmelden|connexion)(?=$|/|[._?-])",
    re.IGNORECASE,
)
_PASSWORD_FIELD = re.compile(rb"<input\b[^>]{0,500}\btype\s*=\s*[\"']?password\b", re.IGNORECASE)
_LOGIN_HEADING = re.compile(
    r"(?:please\s+)?(?:sign|log)[\s-]?(?:in|on)(?:\s*(?:to|with|required|page|[-–|:]).{0,60})?"
    r"|authentication\s+required|access\s+denied|(?:bitte\s+)?anmelden|anmeldung|(?:请)?(?:先)?登录.{0,20}|connexion",
    re.IGNORECASE,
)
_ERROR_HEADING = re.compile(
    r"(?:(?:http\s+)?error\s*:?\s*)?(?:40[0-9]|410|429|50[0-9])"
    r"(?:\s*[-–|:]?\s*(?:error|not\s+found|forbidden|unauthori[sz]ed|bad\s+(?:request|gateway)|gone|internal\s+server"
    r"|service|gateway|too\s+many|page|oops|sorry).{0,60})?"
    r"|(?:page|file|document|site)\s+(?:not\s+found|unavailable|does\s+not\s+exist|no\s+longer\s+exists).{0,40}"
    r"|not\s+found|(?:internal\s+server|server|application|gateway)\s+error"
    r"|service\s+(?:temporarily\s+)?unavailable|(?:down\s+for|under)\s+(?:scheduled\s+)?maintenance"
    r"|we(?:'|’)ll\s+be\s+(?:right\s+)?back.{0,30}|something\s+went\s+wrong|seite\s+nicht\s+gefunden"
    r"|页面不存在|页面未找到|服务器错误|系统维护",
    re.IGNORECASE,
)


class MissingPageError(FetchFailedError):
    """The server says that there is no such page (404, 410)."""

    retryable = False


class UnusableAnswerError(FetchFailedError):
    """An answer that is not the page; asking again at once would not help."""

    retryable = False


class BusySiteError(FetchFailedError):
    """The server asks to be left alone for `retry_after` seconds."""

    def __init__(self, message: str, retry_after: float | None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


def check_answer(fetched: Fetched, asked: WebUrl, final: WebUrl, known_host: str | None) -> None:
    """Raises why an answer cannot be a version of the page. `asked` is the document's address, `final` where
    the answer came from, `known_host` where its last version came from (None: there is none)."""
    error = _status_error(fetched)
    if error is not None:
        raise error
    if final != asked and _LOGIN_PATH.search(final.path) and not _LOGIN_PATH.search(asked.path):
        raise UnusableAnswerError(f"The address redirects to a login page on {final.host}.")
    if known_host is not None and not same_site(final.host, known_host):
        raise UnusableAnswerError(
            f"The address redirects to another host, {final.host}.",
            hint="If the page moved, add its new address as a document and delete this one.",
        )


def _status_error(fetched: Fetched) -> AlmanacError | None:
    status = fetched.status
    if status == 200:
        return None
    if status in {404, 410}:
        return MissingPageError(f"There is no page at this address: status {status}.")
    if status in {401, 403, 407}:
        return UnusableAnswerError(f"The page asks for a login: status {status}.")
    if status == 429 or status >= 500:
        return BusySiteError(f"The server failed: status {status}.", fetched.retry_after)
    if status == 408:
        return FetchFailedError(f"The server gave up: status {status}.")
    return UnusableAnswerError(f"The server answered with status {status}.")


def check_content(body: bytes, extraction: Extraction) -> None:
    """Raises when the page shows nothing but a login form or an error, although its status says success."""
    if len(extraction.markdown) > _SHORT:
        return
    headings = [line.strip("#* \t") for line in extraction.markdown.splitlines() if line.strip()][:1]
    if extraction.title:
        headings.append(extraction.title.strip())
    if _PASSWORD_FIELD.search(body) or any(_LOGIN_HEADING.fullmatch(heading) for heading in headings):
        raise UnusableAnswerError("The address shows a login page.")
    if any(_ERROR_HEADING.fullmatch(heading) for heading in headings):
        raise UnusableAnswerError("The address shows an error page, although its status is 200.")
