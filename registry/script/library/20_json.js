// JSON of results, with the place of a value that has none.

const parse = JSON.parse, stringify = JSON.stringify;

// jsonOf returns the JSON of a value; its error names the member that has none.
function jsonOf(value) {
  if (typeof value === "string") return stringify(value.toWellFormed());
  let text;
  try {
    text = stringify(value);
  } catch (e) {
    throw misfit(value, "", new Set()) ?? e;
  }
  if (text !== undefined && text.includes("\\ud") && /\\ud[89a-f]/.test(text)) {
    text = stringify(value, (_, v) => (typeof v === "string" ? v.toWellFormed() : v));
  }
  return text;
}

// misfit finds the first BigInt or cycle below a value.
function misfit(value, path, above) {
  if (typeof value === "bigint") return new TypeError(`a BigInt has no JSON${at(path)}: convert it with Number or String`);
  if (value === null || typeof value !== "object") return undefined;
  if (above.has(value)) return new TypeError(`an object that contains itself has no JSON${at(path)}`);
  above.add(value);
  for (const key of Object.keys(value)) {
    const found = misfit(value[key], `${path}${Array.isArray(value) ? `[${key}]` : `.${key}`}`, above);
    if (found) return found;
  }
  above.delete(value);
  return undefined;
}

const at = (path) => (path ? `, at ${path.replace(/^\./, "")}` : "");
