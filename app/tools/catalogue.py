"""The tools that workers may be given."""

from app.tools.calculate import CALCULATE
from app.tools.documents import Documents
from app.tools.fetch_page import PageFetcher, fetch_page
from app.tools.python_tools import PythonToolInvalid, installed_tools
from app.tools.query_data import query_data
from app.tools.read_input import read_input
from app.tools.sandbox import Sandbox
from app.tools.tool import Tool
from app.tools.web_search import WEB_SEARCH


def catalogue(sandbox: Sandbox, pages: PageFetcher, documents: Documents | None = None) -> dict[str, Tool]:
    """Every tool by its name. `sandbox` and `pages` are opened and closed by the caller.

    `documents` are those that somebody else reads too.

    Raises `PythonToolInvalid` when an installed package brings one that cannot be used.
    """
    own = (WEB_SEARCH, fetch_page(pages), CALCULATE, query_data(sandbox), read_input(documents or Documents(sandbox)))
    tools = {tool.name: tool for tool in own}
    for tool in installed_tools():
        if tool.name in tools:
            raise PythonToolInvalid(f"tool {tool.name} of {tool.package}: the service has a tool of this name itself")
        tools[tool.name] = tool
    return tools
