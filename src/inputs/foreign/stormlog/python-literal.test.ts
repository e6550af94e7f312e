import { expect, it } from "vitest";
import { pythonLiteral } from "./python-literal.ts";

it("reads what Python's repr writes, nested", () => {
  expect(
    pythonLiteral(
      `{'memory_capabilities': {'backend': 'cpu', 'supports_device_used': False, 'n': [1, -2.5e3, None]}, "it's": (True,), 3: 'a\\'b\\n\\x41\\u00e9\\\\', 'big': 12345678901234567890, 'low': -inf, 'no': nan}`,
    ),
  ).toEqual({
    memory_capabilities: { backend: "cpu", supports_device_used: false, n: [1, -2500, null] },
    "it's": [true],
    "3": "a'b\nAé\\",
    big: 12345678901234567890n,
    low: null,
    no: null,
  });
  expect(pythonLiteral(" { } ")).toEqual({});
});

it.each(["", "{", "{'a'}", "{'a': 1 'b': 2}", "{'a': open('x')}", "'cut", "{'a': 1} x", "{[1]: 2}", "[".repeat(40)])(
  "rejects %j",
  (text) => {
    expect(pythonLiteral(text)).toBeUndefined();
  },
);

it("keeps a key that JavaScript objects treat specially as a plain key", () => {
  const value = pythonLiteral("{'__proto__': {'a': 1}}");
  expect(Object.keys(value as object)).toEqual(["__proto__"]);
});
