import json

from app.tools.catalogue import catalogue
from app.tools.fetch_page import PageFetcher
from app.tools.sandbox import Sandbox
from app.tools.tool import ToolContext, call


async def test_the_catalogue_holds_each_tool_under_its_own_name(sandbox: Sandbox, pages: PageFetcher) -> None:
    tools = catalogue(sandbox, pages)

    assert set(tools) == {"web_search", "fetch_page", "calculate", "query_data", "read_input"}
    assert all(tool.name == name for name, tool in tools.items())


async def test_every_tool_only_reads(sandbox: Sandbox, pages: PageFetcher) -> None:
    assert {tool.effect for tool in catalogue(sandbox, pages).values()} == {"read"}


async def test_every_argument_is_described_to_the_model(sandbox: Sandbox, pages: PageFetcher) -> None:
    for tool in catalogue(sandbox, pages).values():
        schema = tool.spec.input_schema
        assert json.dumps(schema)
        assert schema["additionalProperties"] is False
        assert all(field["description"] for field in schema["properties"].values())


async def test_the_search_is_declared_as_the_providers_tool_and_never_run_by_us(
    sandbox: Sandbox, pages: PageFetcher, context: ToolContext
) -> None:
    tools = catalogue(sandbox, pages)

    assert tools["web_search"].spec.server == {"type": "web_search_20260318", "name": "web_search", "max_uses": 5}
    assert (await call(tools, "web_search", {"query": "x"}, context)).error_code == "tool_call_invalid"
