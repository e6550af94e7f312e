import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import path from "node:path";
import type { Readable, Writable } from "node:stream";

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--window-size=1280,900",
  "--remote-debugging-pipe",
];

/** Name of a Chromium on this machine, or null. */
export function findChromium(): string | null {
  for (const name of ["chromium", "chromium-browser", "google-chrome"]) {
    try {
      execFileSync(name, ["--version"], { stdio: "ignore" });
      return name;
    } catch {
      // The next name may exist.
    }
  }
  return null;
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly message: string };
}

/** A page in a browser, controlled over the DevTools pipe without any library. */
export class BrowserPage {
  /** Console messages, uncaught errors and policy violations of the page. */
  readonly complaints: string[] = [];
  readonly #child: ChildProcess;
  readonly #input: Writable;
  readonly #waiting = new Map<number, (message: Message) => void>();
  #session: string | undefined;
  #next = 1;
  #rest = "";

  static async open(chromium: string, directory: string, file: string): Promise<BrowserPage> {
    const page = new BrowserPage(chromium, directory);
    const target = await page.send("Target.createTarget", { url: "about:blank" });
    const attached = await page.send("Target.attachToTarget", { targetId: target.targetId, flatten: true });
    page.#session = String(attached.sessionId);
    for (const domain of ["Runtime.enable", "Log.enable", "Page.enable"]) await page.send(domain);
    await page.send("Page.navigate", { url: `file://${file}` });
    return page;
  }

  private constructor(chromium: string, directory: string) {
    this.#child = spawn(chromium, [...FLAGS, `--user-data-dir=${path.join(directory, "profile")}`], {
      stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
    });
    this.#input = this.#child.stdio[3] as Writable;
    (this.#child.stdio[4] as Readable).setEncoding("utf8").on("data", (chunk: string) => {
      const parts = (this.#rest + chunk).split("\0");
      this.#rest = parts.pop() ?? "";
      for (const part of parts) this.#receive(JSON.parse(part));
    });
  }

  /** The value of an expression in the page. */
  async evaluate(expression: string): Promise<unknown> {
    const answer = await this.send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
    return (answer.result as { value?: unknown }).value;
  }

  /** Wait until an expression is true. */
  async until(expression: string, ms = 10_000): Promise<void> {
    const end = Date.now() + ms;
    while ((await this.evaluate(expression)) !== true) {
      if (Date.now() > end) throw new Error(`never true in the page: ${expression}`);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }

  async mouse(
    type: "mouseMoved" | "mousePressed" | "mouseReleased",
    x: number,
    y: number,
    clickCount = 1,
  ): Promise<void> {
    const held = type === "mouseMoved" ? {} : { button: "left", clickCount };
    await this.send("Input.dispatchMouseEvent", { type, x, y, ...held });
  }

  async close(): Promise<void> {
    const gone = new Promise((resolve) => this.#child.once("close", resolve));
    await this.send("Browser.close", {}, true).catch(() => {});
    await gone;
  }

  send(method: string, params: Record<string, unknown> = {}, browser = false): Promise<Record<string, unknown>> {
    const id = this.#next++;
    const session = browser || this.#session === undefined ? {} : { sessionId: this.#session };
    this.#input.write(`${JSON.stringify({ id, method, params, ...session })}\0`);
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, (message) => {
        if (message.error) reject(new Error(`${method}: ${message.error.message}`));
        else resolve(message.result ?? {});
      });
    });
  }

  #receive(message: Message): void {
    if (message.id !== undefined) {
      this.#waiting.get(message.id)?.(message);
      this.#waiting.delete(message.id);
    } else if (
      message.method !== undefined &&
      /consoleAPICalled|exceptionThrown|Log\.entryAdded/.test(message.method)
    ) {
      this.complaints.push(JSON.stringify(message.params));
    }
  }
}
