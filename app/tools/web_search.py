"""The tool `web_search`, which the model's provider runs."""

from pydantic import Field

from app.tools.tool import Arguments, Tool


class WebSearch(Arguments):
    """What to search for."""

    query: str = Field(description="The search query, in a few words.")


WEB_SEARCH = Tool(
    name="web_search",
    description=(
        "Searches the web and returns titles, URLs and excerpts of pages, at most 5 searches per reply. Use it to find "
        "current facts and their sources. Do not use it when you know the URL or when the job's inputs hold the answer."
    ),
    arguments=WebSearch,
    effect="read",
    reads="web",
    server={"type": "web_search_20260318", "name": "web_search", "max_uses": 5},
)
