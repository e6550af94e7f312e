import { describe, expect, it } from "vitest";
import { parseConfig } from "./load.ts";
import { servicePlan } from "./service-plan.ts";

const config = (scenario: string) => parseConfig(`scenarios: [{name: api, ${scenario}}]`, "stormlog-gate.yml");
const planOf = (service: string) => {
  const given = config(`service: {start: ./serve, ${service}}`).scenarios[0]?.service;
  if (given === undefined) throw new Error("the scenario has a service");
  return servicePlan(given);
};
const load = 'load: {url: "http://localhost:{PORT}/"}';

describe("the service of a scenario", () => {
  it("a service is ready by a URL, a port or a line", () => {
    expect(planOf(`ready: "http://localhost:80/health", ${load}`).ready.kind).toBe("url");
    expect(planOf(`ready: 8080, ${load}`).ready).toEqual({ kind: "port", port: "8080" });
    expect(planOf(`ready: "{PORT}", ${load}`).ready).toEqual({ kind: "port", port: "{PORT}" });
    expect(planOf(`ready: Listening on, ${load}`).ready).toEqual({ kind: "line", text: "Listening on" });
  });

  it("the start of a service is the command that is measured", () => {
    expect(config(`service: {start: ./serve, ready: 80, ${load}}`).scenarios[0]?.run).toBe("./serve");
  });

  it("a service has a rest in seconds, and cycles until the decision", () => {
    expect(planOf(`ready: 80, ${load}`)).toMatchObject({ restS: 5, cycles: null, stop: "SIGTERM" });
    expect(planOf(`ready: 80, ${load}, rest: 1.5s, cycles: 6, stop: SIGINT`)).toMatchObject({
      restS: 1.5,
      cycles: 6,
      stop: "SIGINT",
    });
  });

  it.each([
    ["both a command and a service", `run: x, service: {start: y, ready: 80, ${load}}`, "has both run and service"],
    ["neither", "timeout: 5", "has neither run nor service"],
    ["a number of requests for a command", "service: {start: y, ready: 80, load: wrk, requests: 5}", "is a number"],
    ["a pattern for the gate's own load", `service: {start: y, ready: 80, ${load}, requests: "x"}`, "is a text"],
    ["a pattern that is none", 'service: {start: y, ready: 80, load: wrk, requests: "(x"}', "has no single (\\d+)"],
    ["an unknown key", `service: {start: y, ready: 80, ${load}, cycle: 5}`, "Did you mean cycles?"],
  ])("a scenario is refused with %s", (_, scenario, message) => {
    expect(() => config(scenario)).toThrow(message);
  });
});
