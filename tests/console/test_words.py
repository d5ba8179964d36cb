"""How numbers and texts read."""

from tests.console.conftest import Desk

_READ = """async ({ counts, cuts, texts }) => {
  const { beginning, count } = await import("/console/format.js");
  const { unseenIn, visible } = await import("/console/dom.js");
  return [counts.map(count), cuts.map(([text, most]) => beginning(text, most)),
    texts.map((text) => [visible(text), unseenIn(text)])];
}"""
COUNTS = {
    0: "0", 999_999: "999,999", 1_200_000: "1.2 M", 99_960_000: "100 M", 255_570_000: "256 M",
    999_600_000: "1.0 B", 2_555_700_000: "2.6 B", 1_500_000_000_000: "1.5 T",
}  # fmt: skip
CUTS = {("abc", 3): "abc", ("abcd", 3): "abc", ("a😀😀😀", 3): "a😀😀", ("😀😀😀", 2): "😀😀"}
QUOTES = {0x2039: "<", 0x203A: ">"}
ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
FAMILY = "👨\u200d👩\u200d👧 ❤\ufe0f می\u200cروم"
TEXTS = {
    "plain": ("plain", []),
    "pay \u202edlog\u202c": ("pay <U+202E>dlog<U+202C>", ["U+202E", "U+202C"]),
    "a\u200bb\ufeffc\u2066d\u2069\u200b": (
        "a<U+200B>b<U+FEFF>c<U+2066>d<U+2069><U+200B>", ["U+200B", "U+FEFF", "U+2066", "U+2069"],
    ),
    "do\U000e0068\U000e0069": ("do<U+E0068><U+E0069>", ["U+E0068", "U+E0069"]),
    ENGLAND: (ENGLAND, []),
    FAMILY: (FAMILY, []),
}  # fmt: skip


async def test_numbers_and_texts_read_as_they_are(quiet_desk: Desk) -> None:
    page = await quiet_desk.open("/nowhere")

    asked = {"counts": list(COUNTS), "cuts": list(CUTS), "texts": list(TEXTS)}
    counts, cuts, texts = await page.evaluate(_READ, asked)

    assert dict(zip(COUNTS, counts, strict=True)) == COUNTS
    assert dict(zip(CUTS, cuts, strict=True)) == CUTS
    found = {text: (seen.translate(QUOTES), unseen) for text, (seen, unseen) in zip(TEXTS, texts, strict=True)}
    assert found == TEXTS
