"""Odd calls of the tools, and odd files for them to read."""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Self

from app.domain.job import JobInput
from app.tools.tool import Tool, ToolContext, call
from tests.fuzz import oddities
from tests.tools.site import Reply, Site

TAKES_S = 60
"""Every tool gives up sooner."""
LONGEST_ANSWER = 21_000
TABLES: Sequence[str] = (
    "region,2022,2023\nA,10,11\nB,12,13\n", "id;name\n1;Ä\n2;ß\n", "a\tb\n1\t2\n",
    "day,n\n03/04/2025,1\n05/06/2025,2\n", "sku,n\n1E10,1\n12E3,2\n", "id,n\r\n1,10\n2,20\r\n", '[{"a":1},{"a":2}]',
    '{"a":{"b":[1,2,{"c":null}]}}', '{"a":1}\n{"a":2}\n', "", ",", "\n\n\n", '"', "a,a,A\n1,2,3\n", "[" * 3_000,
    '{"id":123456789012345678901234567890}', "x\n" + "1\n" * 20_000, "," * 20_000, "\t" * 5_000 + "\n1",
    "a\n" + '"' * 999,
)  # fmt: skip
NAMES = (
    "data.csv",
    "data.json",
    "data.tsv",
    "notes.txt",
    "data.ndjson",
    "t.parquet",
    "Übersicht.txt",
    "a b.csv",
    "..",
    "x",
)
MEDIA_TYPES = (
    "text/csv", "application/json", "text/plain", "text/tab-separated-values", "application/x-ndjson",
    "application/vnd.apache.parquet", "application/octet-stream", "text/csv; charset=x", "é/\u2028",
)  # fmt: skip
FUNCTIONS = (
    "repeat('a', {})", "range({})", "list_resize([1], {})", "printf('%{}d', 1)",
    "string_split(repeat(',', {}), ',')", "json_contains(repeat('[', {}), '1')", "CAST(repeat('[', {}) AS JSON)",
    "regexp_matches(repeat('a', {}), '(a+)+$')", "lpad('', {}, 'x')", "sum({})", "getenv('HOME')",
    "now() - INTERVAL {} DAY", "md5('{}')", "CAST('{}' AS DATE)", "1 / 0", "[[[{}]]]", "struct_pack(a := {})",
)  # fmt: skip
HOST = "public.example"
URLS = (
    "http://127.0.0.1/", "http://[::1]/", "http://169.254.169.254/", "file:///etc/passwd", "http://\ud800/",
    "http:///", "//x", "http://public.example:99999/", "javascript:1", "http://public.example/%00",
    "http://a@public.example/", "http://xn--/",
)  # fmt: skip
MARKUP = (
    "<p>one</p>", "<br>", "<img>", "<form>", "<table><tr><td>1</td></tr></table>", "<div>", "<b><i>", "text ",
    "<!--", "&amp;", "&#0;", '<meta http-equiv="refresh" content="0; url=/next">', "<script>x</script>",
    "<a href='#'>x</a>", "\u2028", "<svg><g>", "]]>",
)  # fmt: skip
PAGE_TYPES = (
    "text/html", "text/html; charset=gb2312", "text/html; charset=x", "text/html, text/html", "application/xml",
    "image/png", "", "text/plain; charset=utf-16", "application/xhtml+xml", "text/html; charset=utf-7",
    "application/json",
)  # fmt: skip
EXPRESSIONS = (
    "1 + 1", "2 ** 8", "9 ** 9 ** 9", "1 / 0", "(" * 300 + "1" + ")" * 300, "-" * 500 + "1", "1e308 * 10",
    "0.1 + 0.2", "17.5% of 2480", "__import__('os')", "'a' * 10**9", "[1] * 10**9", "1 if 1 else 0",
    "factorial(10**6)", "10 % 0", "1 << 10**9", "round(1.5)", "٣ + ٤", "",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool, and the job that it is made in."""

    tool: str
    arguments: Any
    context: ToolContext
    page: Reply
    """What the site answers to whoever fetches a page."""

    @classmethod
    def of(cls, case: str) -> Self:
        """The call that a case stands for."""
        chance = Random(case)
        inputs = tuple(JobInput.model_construct(None, **item) for item in odd_inputs(chance))
        return cls(*odd_call(chance), ToolContext(inputs, case), _page(chance))

    async def made(self, tools: Mapping[str, Tool], site: Site) -> tuple[str, float]:
        """Make it: the code of its answer, and how many seconds it took. What is answered can be stored and shown."""
        site.replies[f"/{self.context.key}"] = self.page
        start = time.monotonic()
        arguments = self.arguments
        if self.tool == "fetch_page" and arguments == {}:
            arguments = {"url": f"http://{HOST}:{site.port}/{self.context.key}"}
        async with asyncio.timeout(TAKES_S):
            answer = await call(tools, self.tool, arguments, self.context)
        answer.text.encode()
        assert "\x00" not in answer.text
        assert len(answer.text) <= LONGEST_ANSWER
        return answer.error_code or "answered", time.monotonic() - start


def odd_call(chance: Random) -> tuple[str, dict[str, Any]]:
    """A call that a model might make: a tool's name and its arguments, right, wrong or hostile."""
    name, arguments = chance.choice((_query, _read, _calculation, _fetching))(chance)
    return name, oddities.mutated(arguments, chance) if chance.random() < 0.25 else arguments


def _query(chance: Random) -> tuple[str, dict[str, Any]]:
    table = chance.choice(
        ("data", "notes", "t", "a_b", '"data.csv"', "runs", "'/etc/passwd'", "read_csv('/etc/passwd')")
    )
    function = chance.choice(FUNCTIONS).format(chance.choice((0, 1, -1, 10, 10**4, 10**7, 10**9, 10**12)))
    sql = chance.choice((
        "", f"SELECT * FROM {table}", f"SELECT {function}", f"SELECT {function} FROM {table}",
        f"SELECT len({function})",
        f"SELECT count(*) FROM {table}, {table} a, {table} b, {table} c", f"SELECT 1; SELECT {function}",
        f"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT {function} FROM r",
        "SELECT " + "(" * 400 + "1" + ")" * 400, f"ATTACH {table}", "COPY data TO '/tmp/x'", "PRAGMA database_list",
        "SET memory_limit='100GB'", f"DESCRIBE {table}", f"SUMMARIZE {table}", oddities.text(chance),
    ))  # fmt: skip
    return "query_data", {"sql": sql}


def _read(chance: Random) -> tuple[str, dict[str, Any]]:
    arguments: dict[str, Any] = {"action": chance.choice(("list", "read", "search", "search", "delete"))}
    arguments["name"] = chance.choice((*NAMES, None))
    arguments["text"] = chance.choice(("a", "30 days", oddities.text(chance)))
    arguments["first_line"] = chance.choice((1, 0, 2.0, 10**9, "1"))
    return "read_input", arguments


def _calculation(chance: Random) -> tuple[str, dict[str, Any]]:
    return "calculate", {"expression": chance.choice((*EXPRESSIONS, oddities.text(chance)))}


def _fetching(chance: Random) -> tuple[str, dict[str, Any]]:
    return "fetch_page", {"url": chance.choice(URLS)} if chance.random() < 0.3 else {}


def _page(chance: Random) -> Reply:
    markup = chance.choice(MARKUP) * chance.choice((1, 50, 3_000, 60_000))
    body = f"<html><head><title>T</title></head><body>{markup}</body></html>".encode()
    body = oddities.damaged(body, chance) if chance.random() < 0.4 else body
    headers = {"Content-Type": chance.choice(PAGE_TYPES)}
    if chance.random() < 0.2:
        headers[chance.choice(("Content-Encoding", "Location", "Content-Length", "Refresh"))] = chance.choice(
            (
                "gzip",
                "br",
                "/",
                "//",
                "0; url=/",
                "-1",
                "99999999",
                oddities.text(chance)[:100].replace("\n", "").encode("ascii", "ignore").decode(),
            )
        )
    return Reply(body, chance.choice((200, 200, 200, 200, 204, 301, 302, 404, 500)), headers)


def odd_inputs(chance: Random) -> list[dict[str, str]]:
    """Inputs of a job: files as people and programs write them, some damaged."""
    names = chance.sample(NAMES, chance.choice((0, 1, 2, 4)))
    return [{"name": name, "media_type": chance.choice(MEDIA_TYPES), "content": _content(chance)} for name in names]


def _content(chance: Random) -> str:
    content = chance.choice(TABLES)
    match chance.choice(("", "", "bom", "damaged", "odd", "many")):
        case "bom":
            return "\ufeff" + content
        case "damaged":
            return oddities.damaged(content.encode(), chance).decode("utf-8", "replace")
        case "odd":
            return oddities.text(chance)
        case "many":
            return json.dumps([oddities.mutated({"a": 1, "b": [1, "x"]}, chance) for _ in range(20)])
        case _:
            return content
