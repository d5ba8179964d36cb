/** JSON values as YAML that every reader takes: texts of several lines as blocks, and quoted what might be misread. */

const PLAIN_KEY = /^[A-Za-z_][\w-]*$/;
const PLAIN = /^[A-Za-z](?:[\w ,./()+-]*[\w).])?$/;
const MISREAD = /^(?:true|false|yes|no|on|off|null|y|n)$/i;
const BLOCK = /^\S[^\u0000-\u0009\u000b-\u001f\u0085\u2028\u2029\ufeff]*$/;

/** The YAML of a value, with a line feed at its end. */
export function yamlOf(value) {
  return `${written(value, 0).trimStart()}\n`;
}

/** What stands behind a key or a dash: on the same line, or on the lines below. */
function written(value, depth) {
  const pad = "  ".repeat(depth);
  if (Array.isArray(value)) {
    if (!value.length) return " []";
    return value.map((each) => `\n${pad}- ${written(each, depth + 1).trimStart()}`).join("");
  }
  if (value !== null && typeof value === "object") {
    const entries = Object.entries(value);
    if (!entries.length) return " {}";
    return entries
      .map(([key, each]) =>
        `\n${pad}${PLAIN_KEY.test(key) && !MISREAD.test(key) ? key : JSON.stringify(key)}:${written(each, depth + 1)}`)
      .join("");
  }
  return typeof value === "string" ? ` ${text(value, pad)}` : ` ${JSON.stringify(value)}`;
}

function text(value, pad) {
  if (value.includes("\n") && BLOCK.test(value)) {
    const ends = /\n*$/.exec(value)[0].length;
    const sign = ends === 0 ? "|-" : ends === 1 ? "|" : "|+";
    const lines = value.slice(0, value.length - (ends ? 1 : 0)).split("\n");
    return `${sign}\n${lines.map((line) => (line ? (pad || "  ") + line : "")).join("\n")}`;
  }
  if (PLAIN.test(value) && !MISREAD.test(value)) return value;
  return JSON.stringify(value)
    .replace(/[\u007f-\u009f\u2028\u2029\ufeff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
