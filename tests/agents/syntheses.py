"""Scripted syntheses, bad and good, each against one of three runs: what an answer is sent back for, and what not."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from tests.support.story import Story, brief, task

ACME = (
    "Acme was founded in 2009. Its revenue in 2024 was 1,234.5 M EUR, up 12 % from 1,102.2 M EUR. It employs 41,234 "
    "people in 37 countries. The board met on 2024-03-14."
)
GLOBEX = (
    "Globex was founded in 2011. Revenue was EUR 987 million in 2024, the margin 18.4 %. Head count: 23 500. It sells "
    "| region | share |\n|---|---|\n| Asia | 55 % |\n| Europe | 45 % |"
)
OUTLOOK = (
    'The CFO of Acme said: "We expect demand to soften in the second half of the year." Analysts see growth of three '
    "to fifteen percent. Twenty-three of them were asked."
)
OBJECTIVE = "Compare Acme and Globex for a budget of 2.5 million, in at most 300 words."


def _told(*, gap: bool = False, schema: dict[str, Any] | None = None) -> Story:
    story = Story(replace(brief(), objective=OBJECTIVE, own_schema=schema))
    tasks = [task("t1", title="Acme"), task("t2", title="Globex"), task("t3", title="Outlook")]
    if gap:
        tasks += [task("t4", title="Prices in Asia"), task("t5", "t4", title="Price index")]
    story.begin(*tasks)
    story.succeed(
        "t1", summary="Acme in figures.", text=ACME, data={"revenue_m": 1234.5, "employees": 41234}, tool_calls=0
    )
    story.succeed(
        "t2",
        summary="Globex in figures.",
        text=GLOBEX,
        data={"share_of_asia": 0.55, "sites": [1, 2, 3] * 5},
        tool_calls=0,
    )
    story.succeed(
        "t3", summary="What is expected.", text=OUTLOOK, sources=["https://example.org/outlook"], tool_calls=0
    )
    if gap:
        story.fail("t4")
        story.settle()
    return story


def whole() -> Story:
    """Three tasks, all of which delivered."""
    return _told()


def lacking() -> Story:
    """The same with a required task that failed, and one that was skipped for lack of it."""
    return _told(gap=True)


def disputed() -> Story:
    """Three tasks about one company, two of which say otherwise than the third, in structured data."""
    story = Story(replace(brief(), objective="When was Acme founded?"))
    story.begin(task("a"), task("b"), task("c"))
    for name, year, source in (("a", 2009, "s1"), ("b", 2011, "s2"), ("c", 2011, "s3")):
        data = {"company": "Acme", "founded": year, "note": f"as {source} has it"}
        story.succeed(
            name, summary=f"founded {year} [{source}]", text=f"Acme was founded {year} [{source}].", data=data
        )
    return story


ROW = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "revenue": {"type": "number"}, "note": {"type": "string"}},
}
SCHEMA = {
    "type": "object",
    "properties": {
        "companies": {"type": "array", "items": ROW | {"required": ["name", "revenue"]}},
        "total": {"type": "number"},
        "verdict": {"enum": ["acme", "globex", "neither"]},
        "asia": {"type": ["number", "null"]},
    },
    "required": ["companies", "total", "verdict"],
}


def shaped() -> Story:
    """The first one, whose job brings a schema."""
    return _told(schema=SCHEMA)


RUNS = {"whole": whole, "lacking": lacking, "disputed": disputed, "shaped": shaped}


class Case(NamedTuple):
    """A reply to be read in one of the runs."""

    run: str
    kind: str
    """The code of what is wrong with it, or what about it looks wrong and is not."""
    reply: Any
    """JSON, or prose."""


def said(answer: str, *tasks: str, **fields: Any) -> dict[str, Any]:
    statements = [{"text": "So it stands.", "tasks": list(tasks)}] if tasks else []
    return {"answer": answer, "confidence": 0.7, "statements": statements, "conflicts": [], "gaps": []} | fields


def conflict(first: str, second: str, **fields: Any) -> dict[str, Any]:
    claims = [{"task": "a", "claim": first}, *({"task": name, "claim": second} for name in ("b", "c"))]
    told = {"topic": "founded of Acme", "claims": claims, "status": "unresolved", "resolution": None, "method": None}
    return told | fields


RESOLVED = {"status": "resolved", "confidence": 0.8}
FINE = "Acme (t1) is larger than Globex: 1,234.5 M EUR against 987 M EUR. Demand is expected to soften."
BOTH = "Acme was founded in 2009 according to a, and in 2011 according to b and c."
GAPS = [{"task": "t4", "impact": "Nothing can be said about prices in Asia."}]
ALL = [{"pointer": "/", "tasks": ["t1", "t2"]}]
DATA: dict[str, Any] = {
    "companies": [{"name": "Acme", "revenue": 1234.5}, {"name": "Globex", "revenue": 987}],
    "total": 2221.5,
    "verdict": "acme",
}


def shape(data: Any, sources: Any = ALL, answer: str = FINE) -> dict[str, Any]:
    return said(answer, "t1", data=data, data_sources=sources)


REPAIRED: Mapping[str, Any] = {
    "whole": said(FINE, "t1", "t2", "t3"),
    "lacking": said(FINE, "t1", "t2", gaps=GAPS),
    "disputed": said(BOTH, "a", "b", conflicts=[conflict("2009", "2011")]),
    "shaped": shape(DATA),
}
"""What the model writes when it is asked once more."""

_FIGURES = [
    "Acme had revenue of 1,243.5 M EUR in 2024.",
    "Acme employs 41,324 people.",
    "Globex has a margin of 19.4 %.",
    "Acme was founded in 2010.",
    "The market grows by 7.3 % a year.",
    "Acme had EUR 1.2345 billion in 38 countries.",
    "Globex had revenue of 987 billion.",
    "About 60 % of all buyers prefer Acme.",
    "| year | revenue |\n|---|---|\n| 2024 | 1,300 |",
    "Together they employ 70,000 people.",
    "The price is $49.99.",
    "Revenue is 1,234.5 and 987, together 2,321.5 M EUR.",
    "Acme was founded in 1998, Globex in 2011.",
    "## Costs of 4,200 EUR\n\nThey rise.",
    "The 14 March meeting cost 85,000 EUR.",
    "1. Acme: 41,234 people\n2. Globex: 32,500 people",
    "Acme had 1,102.2 and then 1,234.5 M EUR, 2,000 together.",
]
_QUOTES = [
    'The CFO said: "We expect demand to collapse in the second half of the year."',
    "The board called it “the best year of our whole history”.",
    "Analysts call Globex „einen sehr verlässlichen Partner im Handel“.",
    'As Acme puts it: "Our customers always come first, whatever happens."',
    "The report says «la croissance sera forte cette année».",
    'It warns that "demand will soften in the first half of the year".',
]
_EMPTY = [
    "TODO",
    "n/a",
    "[Insert answer here]",
    "Acme leads. [Insert figures]",
    "...",
    "Lorem ipsum dolor sit amet.",
    "TBD",
    "Revenue grew by XX %.",
    "Acme had revenue of {{revenue}}.",
    "None",
    "<insert summary>",
    "The answer goes here.",
]
_GAPS = [
    said(FINE, "t1"),
    said("All prices were compared, and Acme leads.", "t1"),
    said(FINE, "t1", gaps=[{"task": "t4", "impact": " "}]),
    said(f"{FINE} Everything asked for is here.", "t2"),
    FINE,
    said(FINE, "t1", gaps=[{"task": "t1", "impact": "none"}]),
]
_HIDDEN = [
    said("Acme was founded in 2009.", "a"),
    said("Acme was founded in 2011.", "b"),
    "Acme was founded in 2011.",
    said("Acme was founded some time ago.", "a", "b"),
    said("Acme was founded in 2009.", "a", conflicts=[conflict("2009", "2011")]),
    said("Sources disagree about the founding.", "a", conflicts=[conflict("2009", "2011")]),
    said("It was founded around then, in the first years.", "a", conflicts=[conflict("2009", "2011")]),
]
_UNFOUNDED = [
    said(BOTH, "a", conflicts=[conflict("2009", "2009")]),
    said(
        BOTH, "a", conflicts=[{"topic": "founded", "claims": [{"task": "a", "claim": "2009"}], "status": "unresolved"}]
    ),
    said(BOTH, "a", conflicts=[conflict("2008", "2011")]),
    said(BOTH, "a", conflicts=[conflict("2009", "2011", **RESOLVED, method="evidence")]),
    said(BOTH, "a", conflicts=[conflict("2009", "2011", **RESOLVED, resolution="2011", method="gut feeling")]),
    said(BOTH, "a", conflicts=[conflict("2009", "2011", **RESOLVED, resolution="2010 is the mean", method="evidence")]),
    said(BOTH, "a", conflicts=[conflict("2009", "2011", **RESOLVED, resolution="2009", method="majority")]),
    said("It was 2009.", "a", conflicts=[conflict("2009", "2011", **RESOLVED, resolution="2011", method="majority")]),
    said(BOTH, "a", conflicts=[conflict("2009", "2011", **RESOLVED, resolution="2011", method="judge")]),
]
_SHAPES = [
    ("data_unfit", shape(DATA | {"total": "much"})),
    ("data_unfit", shape(DATA | {"verdict": "both"})),
    ("data_unfit", shape({"companies": []})),
    ("data_unfit", said(FINE, "t1")),
    ("data_unfit", FINE),
    ("data_unfounded", shape(DATA | {"total": 2300})),
    ("data_unfounded", shape(DATA | {"total": 2222})),
    ("data_unfounded", shape(DATA, [])),
    ("data_unfounded", shape(DATA | {"companies": [{"name": "Initech", "revenue": 987}]})),
    ("data_unfounded", shape(DATA, [{"pointer": "/companies/0", "tasks": ["t1"]}])),
    ("data_unfounded", shape(DATA, [{"pointer": "/", "tasks": ["t3"]}])),
    ("data_unfounded", shape(DATA | {"asia": 0.56})),
    ("task_unknown", shape(DATA, [{"pointer": "/", "tasks": ["t9"]}])),
]
_PASSED = [ACME, GLOBEX, f"Here it is: {ACME}", OUTLOOK, f"# Answer\n\n{GLOBEX}"]
_FORM = [
    said(FINE, "t4"),
    said(FINE, statements=[{"text": "So.", "tasks": []}]),
    said("", "t1"),
    said(FINE, statements=[{"text": " ", "tasks": ["t1"]}]),
    said(FINE, conflicts=[{"topic": "x", "claims": []}]),
    [FINE],
]

BAD = [
    *(Case("whole", "figure_unfounded", said(answer, "t1")) for answer in _FIGURES),
    Case("whole", "figure_unfounded", said(FINE, statements=[{"text": "Acme has 44 sites.", "tasks": ["t1"]}])),
    Case("whole", "figure_unfounded", "In short: Acme made 1,500 M EUR."),
    *(Case("whole", "quotation_unfounded", said(answer, "t3")) for answer in _QUOTES),
    *(Case("whole", "placeholder", said(answer, "t1")) for answer in _EMPTY),
    Case("whole", "deed_unfounded", said(f"{FINE} The comparison was e-mailed to press@example.org.", "t1")),
    *(Case("whole", "passed_through", said(answer, "t1", "t2", "t3")) for answer in _PASSED),
    *(Case("lacking", "gap_unnamed", reply) for reply in _GAPS),
    *(Case("disputed", "conflict_hidden", reply) for reply in _HIDDEN),
    Case("disputed", "figure_unfounded", said("Acme was founded in 2010.", "a", "b", "c")),
    *(Case("disputed", "conflict_unfounded", reply) for reply in _UNFOUNDED),
    *(Case("shaped", kind, reply) for kind, reply in _SHAPES),
    *(
        Case("whole", "output_invalid" if "t4" not in str(reply) else "task_unknown", reply)
        for reply in _FORM
        if isinstance(reply, dict)
    ),
]
"""What is to be sent back."""

_GOOD_FIGURES = {
    "separators": "Acme had revenue of 1.234,5 M EUR, Globex 987.0 million EUR.",
    "plain": "Acme had 1234.5 million euros.",
    "billions": "Acme had EUR 1.2345 billion.",
    "rounded": "Acme had about 1.2 billion EUR and some 41,000 people.",
    "percent": "Revenue rose by 12 percent; Globex has 55 % of its sales in Asia.",
    "share": "A share of 0.55 comes from Asia.",
    "space": "Globex employs 23,500 people, Acme 41 234.",
    "sum": "Revenue: 1,234.5 and 987 M EUR, together 2,221.5 M EUR.",
    "difference": "Acme had 1,234.5 M EUR, Globex 987 M EUR: 247.5 M EUR less.",
    "growth": "Revenue rose from 1,102.2 to 1,234.5 M EUR, by 132.3 M EUR.",
    "ratio": "1,234.5 against 987 M EUR: 1.25 times as much.",
    "years": "Acme was founded in 2009, Globex in 2011, two years (2) later.",
    "age": "From 2009 to 2024 it took Acme 15 years.",
    "small": "There are 3 points, 2 companies and 10 reasons.",
    "counts": "3 of 3 tasks delivered, 100 % of them.",
    "date": "The board met on 14 March 2024.",
    "date-us": "The board met on March 14, 2024, at 10:30.",
    "iso": "It met on 2024-03-14.",
    "asked": "The budget of 2.5 million suffices, in 300 words.",
    "million": "2,500,000 are enough for Acme.",
    "words": "Analysts see growth of 3 to 15 %; 23 of them were asked.",
    "list-length": "Globex has 15 sites.",
    "numbered": "\n".join(f"{number}. Point about Acme" for number in range(1, 17)),
    "heading": "## 14.2 Acme\n\nIt leads.",
    "labels": "T1 and T2 agree; see COVID-19, GPT-4, H2 2024 and x86.",
    "citation": "Acme leads [17], Globex follows [^23].",
    "code": "Run this:\n\n```python\nfor n in range(100, 977):\n    print(n)\n```",
    "step": "See Step 14 and Table 21.",
    "url": "See https://example.org/2023/77/outlook for more.",
    "half": "Half of it: 50/50 is not known, Asia has 55 %.",
    "table": "| | revenue |\n|---|---|\n| Acme | 1,234.5 |\n| Globex | 987 |\n| Total | 2,221.5 |",
    "negative": "A fall of -12 % was not seen.",
    "decade": "In the 2010s Globex grew.",
    "own-count": "\n".join(["13 points:", *("- a point" for _ in range(13))]),
    "span": "In 2024/25 and 2024 Acme led.",
    "ordinal": "In the 21st century Acme leads.",
    "unit": "Acme has 41.2k people.",
    "chf": "EUR 987m and €1,234.5m.",
    "parts": "Asia has 55 % and Europe 45 %, together 100 %.",
}
_GOOD_QUOTES = {
    "verbatim": 'The CFO said: "We expect demand to soften in the second half of the year."',
    "curly": "“We expect demand to soften in the second half of the year”, says the CFO.",
    "cut": 'The CFO expects "demand to soften […] of the year".',
    "short": 'Acme calls it a "soft patch".',
    "case": 'It says "we EXPECT demand to soften in the second half".',
    "inches": 'A 12" screen is no 10" screen.',
    "objective": 'You asked to "compare Acme and Globex for a budget".',
    "code": 'Use `say "this is not a quotation at all"`.',
}
_GOOD_WORDS = {
    "todo": "Acme leads. No todo is left, and nothing is pending.",
    "link": "See [your link](https://example.org).",
    "own-words": "Acme is larger. Globex is more profitable. Demand will soften.",
    "yes": "Yes: Acme.",
    "most-of-one": f"{ACME} Globex, with 987 million, is smaller.",
    "prose": FINE,
}
_GOOD_GAPS = {
    "impact": said(FINE, "t1", gaps=GAPS),
    "title": said(f"{FINE} Prices in Asia are missing.", "t1"),
    "id": said(f"{FINE} Nothing came of t4.", "t1"),
    "prose": f"{FINE} Prices in Asia could not be had.",
    "both": said(FINE, "t1", gaps=[*GAPS, {"task": "t5", "impact": "No index either."}]),
    "share": said(f"60 % delivered, 3 of 5; t4 did not. {FINE}", "t1"),
}
_GOOD_CONFLICTS = {
    "unresolved": said(BOTH, "a", conflicts=[conflict("2009", "2011")]),
    "unlisted": said(BOTH, "a", "b", "c"),
    "prose": BOTH,
    "majority": said(
        "It was 2011.",
        "b",
        conflicts=[conflict("2009", "2011", **RESOLVED, resolution="2011, by two of three", method="majority")],
    ),
    "evidence": said(
        "It was 2009.",
        "a",
        conflicts=[conflict("2009", "2011", **RESOLVED, resolution="2009: s1 is the register", method="evidence")],
    ),
    "worded": said(
        "It was 2009.",
        "a",
        conflicts=[conflict("founded in 2009", "it says 2011", **RESOLVED, resolution="2009", method="the evidence")],
    ),
    "span": said("Between 2009 and 2011.", "a", conflicts=[conflict("2009 [s1]", "2011 [s2]")]),
}
_GOOD_SHAPES = {
    "plain": shape(DATA),
    "null": shape(DATA | {"asia": None}),
    "share": shape(DATA | {"asia": 0.55}),
    "text": shape(str(DATA).replace("'", '"')),
    "each": shape(
        DATA,
        [
            {"pointer": "/companies/0", "tasks": ["t1"]},
            {"pointer": "/companies/1", "tasks": ["t2"]},
            {"pointer": "/total", "tasks": ["t1", "t2"]},
            {"pointer": "/verdict", "tasks": ["t1"]},
        ],
    ),
    "note": shape(
        DATA
        | {
            "companies": [
                {"name": "Acme", "revenue": 1234.5, "note": "Acme is the larger one of the two."},
                DATA["companies"][1],
            ]
        }
    ),
    "left-out": shape(
        DATA | {"asia": None, "companies": [{"name": "Acme", "revenue": 1234.5, "note": None}, DATA["companies"][1]]}
    ),
    "from-data": shape(DATA, [{"pointer": "/data", "tasks": ["t1", "t2", "t3"]}]),
}

GOOD = [
    *(
        Case("whole", name, said(answer, "t1", "t2"))
        for name, answer in (_GOOD_FIGURES | _GOOD_QUOTES | _GOOD_WORDS).items()
    ),
    *(Case("lacking", name, reply) for name, reply in _GOOD_GAPS.items()),
    *(Case("disputed", name, reply) for name, reply in _GOOD_CONFLICTS.items()),
    *(Case("shaped", name, reply) for name, reply in _GOOD_SHAPES.items()),
]
"""What is to be taken at once."""
