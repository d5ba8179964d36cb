"""The answer of a run, as people read it."""

from rich.console import Console
from rich.markdown import Markdown
from rich.text import Text

from app.terminal.text import inert


class _Answer(Markdown):
    """Markdown of which nothing is lost: what looks like HTML is text, and links show their addresses."""

    def __init__(self, text: str) -> None:
        super().__init__(text, hyperlinks=False)
        for token in self.parsed:
            if token.type == "html_block":
                token.type = "code_block"
            for part in token.children or ():
                if part.type == "html_inline":
                    part.type = "text"


def print_answer(to: Console, answer: str) -> None:
    """Print an answer: its Markdown laid out on a terminal, and as it was written where there is none."""
    text = inert(answer.strip())
    if to.is_terminal:
        to.print(_Answer(text))
    else:
        to.print(Text(text), soft_wrap=True)
