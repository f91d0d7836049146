// Makes, copies, reads and writes values.
import { Value, any, num, plugin, text, tool } from "../sallyport";

plugin("values", "1.0.0");

tool("p", "Writes values.", [num("i"), any("v"), num("d").or("1.5").also("maximum", "9e9")], (c) => {
  const shared = Value.array([Value.int(1)]);
  const numbers = Value.array([
    Value.num(0), Value.num(-1.5), Value.num(0.1), Value.num(123456.789), Value.num(4503599627370496), Value.num(Infinity), Value.num(NaN), Value.int(-9223372036854775807),
  ]);
  const all = Value.object().set("n", numbers).set("x", shared).set("y", shared).set("x", Value.str("again")).set("none", null);
  all.set("same", c.get("v")).set("bad", Value.bool(Value.parse("[1 2]") === null && Value.parse('"\\x"') === null && Value.parse("{\"a\"}") === null
    && Value.parse("1.2.3") === null && Value.parse("[".repeat(600)) === null && Value.parse("") === null && Value.parse("nul") === null && Value.parse('"\\u12') === null));
  return text(all.set("int", Value.int(c.int("i"))).set("num", Value.num(c.num("i"))).set("d", Value.num(c.num("d"))).toString());
});

tool("thrown", "Throws.", [], (c) => {
  throw new Error("thrown on purpose");
});

tool("random", "Has random numbers.", [], (c) => {
  const n = Math.random();
  return text((n >= 0 && n < 1).toString());
});
