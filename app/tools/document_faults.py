"""Why a document cannot be read, in words for whoever wanted to read it."""


class DocumentRefused(Exception):
    """The document holds no text for us; the message is a part of a sentence that begins with its name."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
