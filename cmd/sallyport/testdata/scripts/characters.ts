// Compares JSON and searches of the engine, which take many characters at once, with the same functions by single
// characters. Texts of all lengths have each character at each place.
import { tool } from "sallyport";

const short: Record<string, string> = { "\t": "t", "\r": "r", "\n": "n", "\b": "b", "\f": "f", '"': '"', "\\": "\\" };

function quoted(s: string): string {
  let out = '"';
  for (const c of s) {
    const lone = c.length === 1 && c >= "\ud800" && c <= "\udfff";
    out += short[c] ? "\\" + short[c] : c < " " || lone ? "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0") : c;
  }
  return out + '"';
}

function find(s: string, c: string): number {
  for (let i = 0; i < s.length; i++) if (s[i] === c) return i;
  return -1;
}

function fits(s: string, c: string): boolean {
  const json = JSON.stringify(s);
  if (json !== quoted(s) || JSON.parse(json) !== s || JSON.parse(`{"k":[${json}]}`).k[0] !== s || s.indexOf(c[0]) !== find(s, c[0])) return false;
  return !s.isWellFormed() || new TextDecoder().decode(new TextEncoder().encode(s)) === s;
}

const characters = ["\ud83d\ude00", "\ud800", "\udc00", "\u2028", "\u0100", "\ufffe", "\u5c22", "\u2220"];
for (let c = 0; c < 0x102; c++) characters.push(String.fromCharCode(c));

tool("compare", "Returns the texts that differ.", () => {
  const wrong: string[] = [];
  let texts = 0;
  for (const c of characters) {
    for (const around of ["a", "\u00ff", "\u00a2", "\u0101"]) {
      for (const before of [0, 1, 3, 7, 8, 9, 17]) {
        for (const after of [0, 1, 7, 8]) {
          const s = around.repeat(before) + c + around.repeat(after);
          if (!fits(s, c)) wrong.push(escape(s));
          texts++;
        }
      }
    }
  }
  return { texts, wrong: wrong.slice(0, 10) };
});

tool("same", "Reports whether each key is its value, and returns them.", { v: { type: "object", additionalProperties: { type: "string" } } }, ({ v }) => {
  return { v, same: Object.entries(v).every(([key, value]) => key === value) };
});
