import { usageError } from "../core/errors.ts";
import type { Command } from "../core/process/command.ts";
import { parseDuration } from "../core/units.ts";
import { type Load, PORT_PLACE, type Ready, type ServicePlan } from "../telemetry/recording/service.ts";
import type { ConfigScenario, ConfigService } from "./schema.ts";

/** Connections and rest where the scenario does not say. */
const USUAL = { concurrency: 4, restS: 5 } as const;

/** A command as the config file writes it: text for a shell, or words. */
export const commandOf = (run: ConfigScenario["run"]): Command =>
  typeof run === "string" ? { kind: "shell", script: run } : { kind: "argv", argv: run };

function readyOf(ready: ConfigService["ready"]): Ready {
  if (typeof ready === "number" || /^\d{1,5}$/.test(ready) || ready === PORT_PLACE)
    return { kind: "port", port: String(ready) };
  return /^https?:\/\//.test(ready) ? { kind: "url", url: ready } : { kind: "line", text: ready };
}

function loadOf({ load, requests }: ConfigService): Load {
  if (typeof load === "string" || Array.isArray(load)) {
    if (typeof requests === "number")
      throw usageError(
        "SERVICE_REQUESTS_INVALID",
        "requests is a number, but a command makes the load",
        'Give the command the number itself, and write a pattern such as "(\\\\d+) requests" that finds it in its output.',
      );
    const pattern = requests ?? null;
    if (pattern !== null && pattern.split(String.raw`(\d+)`).length !== 2)
      throw usageError(
        "SERVICE_REQUESTS_INVALID",
        "requests has no single (\\d+), which stands for the number",
        String.raw`Write the text around the number as it is printed, such as "sent (\d+) requests".`,
      );
    return { kind: "command", command: commandOf(load), pattern };
  }
  if (typeof requests === "string")
    throw usageError(
      "SERVICE_REQUESTS_INVALID",
      "requests is a text, but the gate itself makes the load",
      "Give the number of requests of a cycle.",
    );
  const { url, method = "GET", headers = {}, body = null, concurrency = USUAL.concurrency, rate = null } = load;
  const http = { url, method, headers, body, concurrency, rate };
  return { kind: "http", http, requests: requests ?? null };
}

/** The plan of a service. @throws GateError SERVICE_REQUESTS_INVALID (usage) */
export function servicePlan(service: ConfigService): ServicePlan {
  const { rest = USUAL.restS, cycles = "auto", reset, stop = "SIGTERM" } = service;
  return {
    ready: readyOf(service.ready),
    load: loadOf(service),
    restS: typeof rest === "number" ? rest : (parseDuration(rest) ?? USUAL.restS),
    cycles: cycles === "auto" ? null : cycles,
    reset: reset === undefined ? null : commandOf(reset),
    stop,
  };
}
