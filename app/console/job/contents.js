/** What inputs hold: text, or the bytes of a document or table; and the files of what was dropped, folders included. */

const AS_BYTES = /\.(pdf|docx|parquet)$/i;
const BYTES_BY_TYPE = /^application\/(pdf|vnd\.apache\.parquet|vnd\.openxmlformats-officedocument\.word)/;
const BY_ENDING = {
  csv: "text/csv", diff: "text/x-diff", html: "text/html", json: "application/json", jsonl: "application/x-ndjson",
  md: "text/markdown", ndjson: "application/x-ndjson", patch: "text/x-diff", py: "text/x-python",
  tsv: "text/tab-separated-values",
};

/** The media type that a name speaks for, as the service reads names. */
export function mediaTypeOf(name) {
  return BY_ENDING[/\.([^.]+)$/.exec(name.toLowerCase())?.[1]] ?? "text/plain";
}

/** An input of a file: `{name, text}` where it is text, `{name, bytes}` where it is none. */
export async function inputOf(blob, name, mediaType = undefined) {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  if (AS_BYTES.test(name) || BYTES_BY_TYPE.test(mediaType ?? "")) return { name, mediaType, bytes };
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (!text.includes("\0")) return { name, mediaType, text };
  } catch {
    // Another encoding: the service says what it makes of it.
  }
  return { name, mediaType, bytes };
}

/** How many bytes an input has. */
export function sizeOf({ text, bytes }) {
  return bytes ? bytes.length : new TextEncoder().encode(text ?? "").length;
}

/** The files of a drop with their paths, those in folders too. */
export async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files].map((file) => ({ file, path: file.name }));
  return (await Promise.all(entries.map((entry) => filesBelow(entry)))).flat();
}

async function filesBelow(entry) {
  const path = entry.fullPath.replace(/^\//, "");
  if (entry.isFile) return [{ file: await new Promise((give, fail) => entry.file(give, fail)), path }];
  const reader = entry.createReader();
  const below = [];
  for (;;) {
    const some = await new Promise((give, fail) => reader.readEntries(give, fail));
    if (!some.length) break;
    below.push(...some);
  }
  return (await Promise.all(below.map(filesBelow))).flat();
}
