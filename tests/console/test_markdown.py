"""How Markdown becomes nodes: a table of cases, hostile ones among them, and how long what is hostile takes."""

from tests.console.conftest import Desk

MS_ALLOWED = 2_000
"""For 100,000 characters, on a busy machine; what is not linear takes minutes."""
DEEP = 60
LINK = 'rel="noopener noreferrer nofollow"'
_RENDER = """async (texts) => {
  const { markdown } = await import("/console/markdown.js");
  return texts.map((text) => {
    const article = document.createElement("article");
    article.append(...markdown(text));
    for (const each of article.querySelectorAll("*")) {
      for (const name of ["title", "target", "tabindex", "role", "aria-label", "class"]) each.removeAttribute(name);
    }
    return article.innerHTML;
  });
}"""
_TIME = """async (texts) => {
  const { markdown } = await import("/console/markdown.js");
  const depth = (node) => 1 + Math.max(0, ...[...(node.children ?? [])].slice(0, 50).map(depth));
  const found = {};
  for (const [name, text] of Object.entries(texts)) {
    const article = document.createElement("article");
    const begun = performance.now();
    for (const node of markdown(text)) article.append(node);
    found[name] = { ms: performance.now() - begun, depth: depth(article), text: article.textContent.length };
  }
  return found;
}"""

CASES = {
    "a **b** *c* __d__ _e_": "<p>a <strong>b</strong> <em>c</em> <strong>d</strong> <em>e</em></p>",
    "~~f~~ `g`": "<p><del>f</del> <code>g</code></p>",
    "***a** b* **a*b*c** *a **b*": "<p><em><strong>a</strong> b</em> <strong>a<em>b</em>c</strong> *a *<em>b</em></p>",
    "snake_case and 2*3*4, a * b, ~5 and ~10": "<p>snake_case and 2<em>3</em>4, a * b, ~5 and ~10</p>",
    r"\*not\* &lt;b&gt; &copy; &#x41; &#0; &nope;": "<p>*not* &lt;b&gt; © A \ufffd &amp;nope;</p>",
    "`` a ` b `` `c\nd` `open": "<p><code>a ` b</code> <code>c d</code> `open</p>",
    "a  \nb\\\nc\nd": "<p>a  <br>b<br>c\nd</p>",
    "# A\n\n## B ##\n\n#### C\n\nD\n---\n#e": "<h3>A</h3><h4>B</h4><h5>C</h5><h4>D</h4><p>#e</p>",
    "### Only\n\ntext": "<h3>Only</h3><p>text</p>",
    "- a\n- b\n  - c\n    1. d\n- [x] e\n- [ ] f": "<ul><li>a</li><li>b<ul><li>c<ol><li>d</li></ol></li></ul></li>"
    "<li><span>☑</span>e</li><li><span>☐</span>f</li></ul>",
    "3. x\n4. y\n\ntext": '<ol start="3"><li>x</li><li>y</li></ol><p>text</p>',
    "1. a\n\n   b\n\n       c\n2. d": "<ol><li><p>a</p><p>b</p><pre><code>c</code></pre></li><li><p>d</p></li></ol>",
    "a\n- b\nlazy\n* c": "<p>a</p><ul><li>b\nlazy</li></ul><ul><li>c</li></ul>",
    "a\n2. b": "<p>a\n2. b</p>",
    "> q\nlazy\n> > r\n\nout": "<blockquote><p>q\nlazy</p><blockquote><p>r</p></blockquote></blockquote><p>out</p>",
    "```js\na <b>\n  c\n```\nd": "<pre><code>a &lt;b&gt;\n  c</code></pre><p>d</p>",
    "a\n~~~\nopen": "<p>a</p><pre><code>open</code></pre>",
    "    code\n\n    more\n\n***": "<pre><code>code\n\nmore</code></pre><hr>",
    "| a | b |\n|:-|--:|\n| 1 | `x\\|y` | 3 |\n| 2 |\nno": "<div><table><thead><tr>"
    '<th scope="col" style="text-align: start;">a</th><th scope="col" style="text-align: end;">b</th></tr></thead>'
    '<tbody><tr><td style="text-align: start;">1</td><td style="text-align: end;"><code>x|y</code></td></tr>'
    '<tr><td style="text-align: start;">2</td></tr><tr><td style="text-align: start;">no</td></tr></tbody></table>'
    "</div>",
    "a | b\n--|\nc": "<p>a | b\n--|\nc</p>",
    '[a *b*](https://c.d "t") <https://e.f> <g@h.i>': f'<p><a href="https://c.d/" {LINK}>a <em>b</em></a> '
    f'<a href="https://e.f/" {LINK}>https://e.f</a> <a href="mailto:g@h.i" {LINK}>g@h.i</a></p>',
    "see https://a.b/c_(d). (www.e.f), xhttps://g.h": "<p>see "
    f'<a href="https://a.b/c_(d)" {LINK}>https://a.b/c_(d)</a>. (<a href="https://www.e.f/" {LINK}>www.e.f</a>), xhttps://g.h</p>',
    "[a][B] [b] [c]\n\n[b]: <https://d.e> 'T'": f'<p><a href="https://d.e/" {LINK}>a</a> '
    f'<a href="https://d.e/" {LINK}>b</a> [c]</p>',
    "[a [b](https://c.d) e](x)": f'<p>[a <a href="https://c.d/" {LINK}>b</a> e](x)</p>',
    "[https://a.b](https://c.d)": f'<p><a href="https://c.d/" {LINK}>https://a.b</a></p>',
    "![a *b*](https://c.d/e)": "<p><span>Image: a <em>b</em> ("
    f'<a href="https://c.d/e" {LINK}>https://c.d/e</a>)</span></p>',
    "[![a](https://b.c)](https://d.e)": f'<p><a href="https://d.e/" {LINK}>'
    "<span>Image: a (<code>https://b.c</code>)</span></a></p>",
    "![a](data:image/png;base64,AA)": "<p><span>Image: a (<code>data:image/png;base64,AA</code>)</span></p>",
    "<script>a()</script>\n<img src=x onerror=a()>": "<p>"
    "&lt;script&gt;a()&lt;/script&gt;\n&lt;img src=x onerror=a()&gt;</p>",
}  # fmt: skip
"""Without what is the same for all of a kind: titles, targets, roles, classes."""

NO_LINKS = [
    "[x](javascript:a())", "[x](JaVaScRiPt:a())", "[x](&#106;avascript:a())", "[x](java&#10;script:a())",
    "[x](&#x01;javascript:a())", "[x](<javascript:a()>)", "[x](<java\tscript:a()>)", r"[x](java\script:a())",
    "[x](javascript&colon;a())", "[x](data:text/html,<script>a()</script>)", "[x](vbscript:x)",
    "[x](file:///etc/passwd)", "[x](//evil.example)", "[x](/v1/keys)", "[x](blob:https://a.b/c)", "<javascript:a()>",
    "[x]\n\n[x]: javascript:a()", "[x](https://)", "[x](http://[)",
]  # fmt: skip

ELEMENTS_THAT_LOAD = ("img", "script", "iframe", "object", "style", "link", "svg", "video")

MANY = 100_000
HOSTILE = {
    "brackets": "[" * MANY,
    "bracket pairs": "[" * (MANY // 2) + "]" * (MANY // 2),
    "bracket pairs with a name": "[a]: https://b.c\n\n" + "[" * (MANY // 2) + "]" * (MANY // 2),
    "links that do not end": "[a](" * (MANY // 4),
    "links in links": "[![a](b)" * (MANY // 8),
    "parentheses": "[]((" * (MANY // 4) + ")" * (MANY // 4),
    "titles": '[a](b "' * (MANY // 7),
    "stars": "*" * MANY,
    "stars and words": "*a **b " * (MANY // 7),
    "stars around": "*" * (MANY // 2) + "a" + "*" * (MANY // 2),
    "marks of all kinds": "**a _b ~~c " * (MANY // 20) + "c~~ b_ a** " * (MANY // 20),
    "quotes": ">" * MANY,
    "quotes with spaces": "> " * (MANY // 2),
    "quotes, nested 10,000 times": "\n".join("> " * depth + "a" for depth in range(1, 440)) + "\n" + "> " * 10_000,
    "items in items": "- " * (MANY // 2),
    "items in items, line by line": "\n".join(" " * (2 * depth) + "- a" for depth in range(400)),
    "numbers": "1. " * (MANY // 3),
    "quotes and items": "> - " * (MANY // 4),
    "backticks": " ".join("`" * length for length in range(440)),
    "fences": "```\n" * (MANY // 4),
    "rules that are none": "* " * (MANY // 2) + "x",
    "bars": "|" * MANY,
    "a table of nothing": "|a|b|\n|-|-|\n" + "|\n" * (MANY // 2),
    "angles": "<a:" * (MANY // 3),
    "ampersands": "&" * MANY,
    "addresses": "http://" * (MANY // 7),
    "an address with ends": "https://a" + ")" * MANY,
    "spaces": "a" + " " * MANY + "b",
    "tabs": "\t" * MANY + "x",
    "headings": "# a " + "#" * MANY,
    "underlines": "a\n" + "=" * MANY + "x",
    "blank lines": "- a" + "\n" * MANY + "- b",
}


async def test_markdown_becomes_nodes_that_lead_and_load_nowhere_else(quiet_desk: Desk) -> None:
    page = await quiet_desk.open("/nowhere")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    found = await page.evaluate(_RENDER, list(CASES))
    unlinked = await page.evaluate(_RENDER, [*NO_LINKS, *(f"!{text}" for text in NO_LINKS)])

    assert dict(zip(CASES, found, strict=True)) == CASES
    assert [html for html in unlinked if "<a" in html] == []
    assert [html for html in found + unlinked if any(f"<{tag}" in html for tag in ELEMENTS_THAT_LOAD)] == []
    assert [url for url in asked if not url.startswith(quiet_desk.url)] == []


async def test_hostile_text_takes_no_longer_than_other_text(quiet_desk: Desk) -> None:
    page = await quiet_desk.open("/nowhere")

    found = await page.evaluate(_TIME, HOSTILE)

    assert {name: each["ms"] for name, each in found.items() if each["ms"] > MS_ALLOWED} == {}
    assert {name: each["depth"] for name, each in found.items() if each["depth"] > DEEP} == {}
