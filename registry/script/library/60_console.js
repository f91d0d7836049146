// console, whose lines are log messages of the call, or lines of the host's log while the script is imported.

const counts = new Map(), clocks = new Map();
let indent = "";

function show(value, depth = 0, above = []) {
  if (typeof value === "string") return depth === 0 ? value : stringify(value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return value.name ? `[Function: ${value.name}]` : "[Function (anonymous)]";
  if (value === null || typeof value !== "object") return Object.is(value, -0) ? "-0" : String(value);
  if (value instanceof Error) return stackOf(value);
  if (above.includes(value)) return "[Circular]";
  if (value instanceof Date) return isNaN(value) ? "Invalid Date" : value.toISOString();
  if (value instanceof RegExp) return String(value);
  if (depth > 3) return Array.isArray(value) ? "[Array]" : "[Object]";
  const inner = (v) => show(v, depth + 1, [...above, value]);
  const list = (items) => (items.length > 100 ? [...items.slice(0, 100), `... ${items.length - 100} more items`] : items).join(", ");
  if (Array.isArray(value)) return value.length ? `[ ${list(value.map(inner))} ]` : "[]";
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return `${value.constructor.name}(${value.length}) [ ${list([...value].map(inner))} ]`;
  if (value instanceof Map) return `Map(${value.size}) { ${list([...value].map(([k, v]) => `${inner(k)} => ${inner(v)}`))} }`;
  if (value instanceof Set) return `Set(${value.size}) { ${list([...value].map(inner))} }`;
  const name = Object.getPrototypeOf(value)?.constructor?.name;
  const prefix = name && name !== "Object" ? `${name} ` : "";
  const members = Object.keys(value).map((k) => `${/^[A-Za-z_$][\w$]*$/.test(k) ? k : stringify(k)}: ${inner(value[k])}`);
  return members.length ? `${prefix}{ ${list(members)} }` : `${prefix}{}`;
}

function format(args) {
  const rest = [...args];
  let text = "";
  if (typeof rest[0] === "string" && rest.length > 1) {
    text = rest.shift().replace(/%([sdifjoOc%])/g, (whole, kind) => {
      if (kind === "%") return "%";
      if (rest.length === 0) return whole;
      const v = rest.shift();
      switch (kind) {
        case "s": return typeof v === "object" && v !== null ? show(v, 1) : show(v);
        case "d": return typeof v === "bigint" ? `${v}n` : String(Number(v));
        case "i": return String(parseInt(v));
        case "f": return String(parseFloat(v));
        case "j": return jsonOf(v);
        case "c": return "";
      }
      return show(v, 1);
    });
    rest.unshift(text);
  }
  return rest.map((v) => show(v)).join(" ");
}

function line(level, args) {
  let text;
  try {
    text = format(args);
  } catch (e) {
    text = `a value that cannot be shown: ${textOf(e)}`;
  }
  if (indent) text = indent + text.replaceAll("\n", `\n${indent}`);
  if (host.importing()) host.log(`${text}\n`);
  else tell("notifications/message", { level, data: text });
}

const console = {
  log: (...a) => line("info", a),
  info: (...a) => line("info", a),
  debug: (...a) => line("debug", a),
  warn: (...a) => line("warning", a),
  error: (...a) => line("error", a),
  trace: (...a) => line("debug", ["Trace:", ...a]),
  dir: (v) => line("info", [v]),
  table: (v) => line("info", [v]),
  assert: (ok, ...a) => ok || line("error", a.length ? ["Assertion failed:", ...a] : ["Assertion failed"]),
  count: (label = "default") => {
    counts.set(label, (counts.get(label) ?? 0) + 1);
    line("info", [`${label}: ${counts.get(label)}`]);
  },
  countReset: (label = "default") => counts.delete(label),
  time: (label = "default") => clocks.set(label, Date.now()),
  timeLog: (label = "default", ...a) => line("info", [`${label}: ${Date.now() - clocks.get(label)}ms`, ...a]),
  timeEnd: (label = "default") => {
    line("info", [`${label}: ${Date.now() - clocks.get(label)}ms`]);
    clocks.delete(label);
  },
  group: (...a) => {
    if (a.length) line("info", a);
    indent += "  ";
  },
  groupEnd: () => (indent = indent.slice(2)),
};
console.groupCollapsed = console.group;
