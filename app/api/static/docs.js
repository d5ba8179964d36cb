// The page of the API: reads openapi.json and shows it. What the document says is only ever set as text.

const METHODS = ["get", "post", "put", "patch", "delete"];

const element = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
};

/** Inline Markdown as nodes: `code` and **strong** alone. */
const inline = (text) =>
  text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part) => {
    if (/^`[^`]+`$/.test(part)) return element("code", {}, part.slice(1, -1));
    if (/^\*\*[^*]+\*\*$/.test(part)) return element("strong", {}, part.slice(2, -2));
    return part;
  });

/** Markdown as nodes: paragraphs and lists. */
const prose = (text = "") =>
  text.trim().split(/\n{2,}/).filter(Boolean).map((block) => {
    if (!block.startsWith("- ")) return element("p", {}, inline(block.replaceAll("\n", " ")));
    const items = block.replaceAll(/\n(?!- )\s*/g, " ").split("\n");
    return element("ul", {}, items.map((item) => element("li", {}, inline(item.slice(2)))));
  });

const lookedUp = (whole, part) =>
  part?.$ref ? part.$ref.slice(2).split("/").reduce((inner, key) => inner[key], whole) : part;

const nameOf = (reference) => reference.split("/").at(-1);

/** What a schema is, in a few words, with links to those it refers to. */
const typeOf = (schema) => {
  if (!schema || Object.keys(schema).length === 0) return ["anything"];
  if (schema.$ref) return [element("a", { href: `#${nameOf(schema.$ref)}` }, nameOf(schema.$ref))];
  if (schema.const !== undefined) return [element("code", {}, JSON.stringify(schema.const))];
  if (schema.enum) return schema.enum.flatMap((value, index) => [index ? " or " : "", element("code", {}, value)]);
  const either = schema.anyOf ?? schema.oneOf;
  if (either) return either.flatMap((each, index) => [index ? " or " : "", ...typeOf(each)]);
  if (schema.type === "array") return ["list of ", ...typeOf(schema.items ?? schema.prefixItems?.[0])];
  return [schema.format ? `${schema.type} (${schema.format})` : schema.type ?? "anything"];
};

const BOUNDS = {
  minimum: "at least", maximum: "at most", exclusiveMinimum: "more than", minLength: "shortest", maxLength: "longest",
  minItems: "fewest items", maxItems: "most items", maxProperties: "most members", pattern: "pattern", default: "left out:",
};

/** The bounds of a schema, those of its variants included. */
const boundsOf = (schema) => {
  const all = [schema, ...(schema.anyOf ?? [])];
  const said = all.flatMap((each) => Object.entries(BOUNDS).filter(([key]) => each[key] !== undefined)
    .map(([key, words]) => `${words} ${key === "pattern" ? each[key] : JSON.stringify(each[key])}`));
  return said.length ? element("p", { class: "quiet" }, said.join(", ")) : null;
};

const row = (name, needed, schema, description) =>
  element("tr", {},
    element("td", {}, element("code", {}, name), needed ? element("div", { class: "quiet" }, "required") : null),
    element("td", {}, typeOf(schema)),
    element("td", {}, prose(description), boundsOf(schema)));

const fieldsOf = (whole, schema) =>
  element("table", {}, Object.entries(schema.properties).map(([name, field]) =>
    row(name, schema.required?.includes(name), field, field.description ?? lookedUp(whole, field).description)));

const json = (value) => element("pre", {}, element("code", {}, JSON.stringify(value, null, 2)));

const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

/** The call of an operation as one shell command, with its examples. */
const asCurl = (path, method, operation, body) => {
  const parameters = operation.parameters ?? [];
  const inPath = parameters.filter((each) => each.in === "path");
  const filled = inPath.reduce((made, each) => made.replace(`{${each.name}}`, encodeURIComponent(each.example)), path);
  const address = new URL(filled.slice(1), document.baseURI).href;
  const lines = [`curl ${method === "get" ? "" : `-X ${method.toUpperCase()} `}${quoted(address)}`];
  if (operation.responses["200"]?.content?.["text/event-stream"]) lines.push("-N -H 'accept: text/event-stream'");
  if (body !== undefined) lines.push("-H 'content-type: application/json'", `-d ${quoted(JSON.stringify(body))}`);
  return lines.join(" \\\n  ");
};

const copyButton = (text) => {
  const button = element("button", { type: "button" }, "copy as curl");
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = "copied";
  });
  return button;
};

const bodyOf = (path, method, operation) => {
  const media = operation.requestBody?.content?.["application/json"];
  if (!media) return [element("p", {}, copyButton(asCurl(path, method, operation)))];
  return [
    element("h4", {}, "Body"), element("p", {}, typeOf(media.schema)),
    ...Object.values(media.examples).flatMap((example) => [
      element("p", {}, example.summary, " ", copyButton(asCurl(path, method, operation, example.value))),
      json(example.value),
    ]),
  ];
};

const answersOf = (whole, operation) => Object.entries(operation.responses).map(([status, given]) => {
  const answer = lookedUp(whole, given);
  const kinds = Object.entries(answer.content ?? {});
  const headers = Object.entries(answer.headers ?? {}).map(([name, header]) =>
    row(name, false, lookedUp(whole, header).schema, lookedUp(whole, header).description));
  return element("details", status.startsWith("2") ? { open: "" } : {},
    element("summary", {}, element("code", {}, status), " ", inline(answer.description)),
    kinds.map(([kind, media]) => element("div", {}, element("code", {}, kind), ": ", typeOf(media.schema),
      prose(media.schema?.description), media.example ? element("pre", {}, media.example) : null)),
    headers.length ? element("details", {}, element("summary", {}, "Headers"), element("table", {}, headers)) : null);
});

const operationOf = (whole, path, method, operation) =>
  element("section", { id: operation.operationId, "data-words": `${path} ${operation.operationId}`.toLowerCase() },
    element("h3", {}, element("span", { class: "method" }, method), " ", element("code", {}, path)),
    prose(operation.description),
    operation.parameters ? [element("h4", {}, "Parameters"), element("table", {}, operation.parameters.map((each) =>
      row(each.name, each.required, each.schema, `${each.description} (${each.in})`)))] : null,
    bodyOf(path, method, operation),
    element("h4", {}, "Answers"), answersOf(whole, operation));

const schemaOf = (whole, name, schema) =>
  element("section", { id: name, "data-words": `${name} ${(schema.enum ?? []).join(" ")} ${schema.properties?.type?.const ?? ""}`.toLowerCase() },
    element("h3", {}, name), prose(schema.description),
    schema.properties ? fieldsOf(whole, schema) : null,
    element("details", {}, element("summary", {}, "Example"), json(schema.examples[0])));

const group = (title, sections, description) =>
  [element("h2", {}, title), ...prose(description), ...sections];

const shown = (whole) => {
  const operations = Object.entries(whole.paths).flatMap(([path, methods]) =>
    METHODS.filter((method) => methods[method]).map((method) => [path, method, methods[method]]));
  const schemas = Object.entries(whole.components.schemas);
  return [
    element("h1", {}, whole.info.title, " ", element("small", {}, whole.info.version)),
    ...prose(whole.info.description),
    ...whole.tags.flatMap((tag) => group(tag.name, operations.filter(([, , operation]) => operation.tags[0] === tag.name)
      .map((operation) => operationOf(whole, ...operation)), tag.description)),
    ...group("schemas", schemas.map(([name, schema]) => schemaOf(whole, name, schema)),
      "What is sent and answered, every event, and the codes."),
  ];
};

const entryOf = (section) =>
  element("a", { href: `#${section.id}` }, section.querySelector("h3").textContent);

/** The list of contents; the filter hides what does not have its words, in the list and on the page. */
const listContents = (page, contents, filter) => {
  const entries = [];
  for (const part of page.querySelectorAll("h2, section")) {
    const entry = part.tagName === "H2" ? element("strong", {}, part.textContent) : entryOf(part);
    contents.append(entry);
    if (part.tagName !== "H2") entries.push([part, entry]);
  }
  filter.addEventListener("input", () => {
    for (const [section, entry] of entries) {
      section.hidden = entry.hidden = !section.dataset.words.includes(filter.value.trim().toLowerCase());
    }
  });
};

const page = document.querySelector("#page");
try {
  const answer = await fetch("openapi.json");
  page.replaceChildren(...shown(await answer.json()));
  listContents(page, document.querySelector("#contents"), document.querySelector("#filter"));
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
} catch (problem) {
  page.replaceChildren(element("p", {}, `The description could not be shown: ${problem.message}`));
}
