import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DeadlineError } from "./deadline.ts";
import { degradedWarning } from "./degrade.ts";

const ATTEMPT = { what: "post", permission: "pull-requests: write", instead: "Look there." };
const withStatus = (status: number, message = "x", answered = true): Error =>
  Object.assign(new Error(message), { status, ...(answered ? { response: {} } : {}) });

describe("degradedWarning", () => {
  it("names the missing permission on 403", () => {
    expect(degradedWarning(ATTEMPT, withStatus(403))).toContain("`permissions: pull-requests: write`");
  });

  it("degradedWarning does not name permissions as the cause of a rate limit", () => {
    const text = degradedWarning(ATTEMPT, withStatus(403, "You have exceeded a secondary rate limit"));
    expect(text).toContain("rate limit");
    expect(text).not.toContain("permissions");
  });

  it.each([
    [withStatus(401), "token was refused"],
    [withStatus(404), "404"],
    [withStatus(422, "body is too long"), "body is too long"],
    [withStatus(429), "rate limit"],
    [withStatus(502), "GitHub failed (502)"],
    [withStatus(500, "connect ECONNREFUSED", false), "ECONNREFUSED"],
    [new DeadlineError("no answer within 30 s"), "no answer within 30 s"],
    [new TypeError("fetch failed", { cause: new Error("getaddrinfo ENOTFOUND api") }), "ENOTFOUND"],
  ])("explains %s", (error, words) => {
    expect(degradedWarning(ATTEMPT, error)).toContain(words);
  });

  it("degradedWarning handles an error that cannot be converted to a string", () => {
    for (const thrown of [Object.create(null), { toString: 1, valueOf: 2 }]) {
      expect(degradedWarning(ATTEMPT, thrown)).toContain("something of type object was thrown");
    }
  });

  it("degradedWarning is one bounded line whatever was thrown", () => {
    fc.assert(
      fc.property(fc.anything(), fc.string({ maxLength: 2000, unit: "binary" }), (thrown, message) => {
        for (const error of [thrown, new Error(message)]) {
          const text = degradedWarning(ATTEMPT, error);
          expect(text).not.toMatch(/[\r\n]/);
          expect(text.length).toBeLessThan(1600);
        }
      }),
    );
  });
});
