import { setTimeout as delay } from "node:timers/promises";
import type { GitHub } from "@actions/github/lib/utils";
import { boundedFetch } from "./bounded-fetch.ts";
import type { RunContext } from "./run-context.ts";

/** Writes that may follow each other at once; a job of the gate makes six to nine. */
const BURST = 10;
/** From then on one a second, as GitHub asks for: it allows 80 writes a minute. */
const REFILL_MS = 1000;

/**
 * When the next write may begin. The plugin's own pace is one a second from the first on, so that a job spent five
 * seconds waiting. Of the limiter that the plugin expects it uses this much.
 * @param now milliseconds of a monotonic clock
 */
export class WritePace {
  readonly #now: () => number;
  readonly #wait: (ms: number) => Promise<void>;
  #free = BURST;
  #refilledAt: number;
  #last: Promise<void> = Promise.resolve();

  constructor(now: () => number = () => performance.now(), wait: (ms: number) => Promise<void> = delay) {
    this.#now = now;
    this.#wait = wait;
    this.#refilledAt = now();
  }

  key(): this {
    return this;
  }

  schedule<T>(_options: unknown, task: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(() => this.#take());
    this.#last = turn;
    return turn.then(task);
  }

  async #take(): Promise<void> {
    const refilled = Math.floor((this.#now() - this.#refilledAt) / REFILL_MS);
    if (refilled > 0) {
      this.#free = Math.min(BURST, this.#free + refilled);
      this.#refilledAt += refilled * REFILL_MS;
    }
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    await this.#wait(this.#refilledAt + REFILL_MS - this.#now());
    this.#refilledAt += REFILL_MS;
  }
}

export type Octokit = InstanceType<typeof GitHub>;

export interface ConnectOptions {
  readonly token: string;
  readonly context: RunContext;
  /** Aborts running and later requests. */
  readonly signal: AbortSignal;
  /** Maximum wait that GitHub may ask for (`retry-after`), seconds. */
  readonly maxWaitS: number;
  log(line: string): void;
}

const MAX_RATE_LIMIT_RETRIES = 2;

/** The code of GitHub's client, which a busy machine takes seconds to load: before a deadline for GitHub's answer. */
export function loadClient() {
  return Promise.all([
    import("@actions/github"),
    // It knows the runner's proxy.
    import("@actions/github/lib/utils"),
    import("@octokit/plugin-retry"),
    import("@octokit/plugin-throttling"),
  ]);
}

/** A client that waits out rate limits and retries server errors, within the deadline. */
export function connect(
  [{ getOctokit }, { defaults }, { retry }, { throttling }]: Awaited<ReturnType<typeof loadClient>>,
  options: ConnectOptions,
): Octokit {
  const waitOut = (retryAfterS: number, request: { method?: string; url?: string }, retries: number): boolean => {
    const again = retries < MAX_RATE_LIMIT_RETRIES && retryAfterS <= options.maxWaitS;
    options.log(`GitHub limits ${request.method} ${request.url}: ${again ? `again in ${retryAfterS} s` : "giving up"}`);
    return again;
  };
  return getOctokit(
    options.token,
    {
      baseUrl: options.context.apiUrl,
      request: { signal: options.signal, fetch: boundedFetch(defaults.request?.fetch ?? fetch) },
      // Two more tries, 1.6 and 3.6 s apart: a hiccup passes in that time, and a job should not wait out an outage.
      retry: { retries: 2, retryAfterBaseValue: 400 },
      throttle: {
        // The plugin's types ask for a whole limiter of Bottleneck; it uses what this one has.
        write: new WritePace() as never,
        onRateLimit: (after: number, request: object, _octokit: unknown, retries: number) =>
          waitOut(after, request, retries),
        onSecondaryRateLimit: (after: number, request: object, _octokit: unknown, retries: number) =>
          waitOut(after, request, retries),
      },
      log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    },
    retry,
    throttling,
  );
}
