import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

/** An HTTPS server with a self-signed certificate, like an inspecting proxy. */
export class SelfSigned {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Null without openssl to make a certificate. */
  static async start(): Promise<SelfSigned | null> {
    const directory = mkdtempSync(path.join(tmpdir(), "stormlog-tls-"));
    try {
      const [key, cert] = [path.join(directory, "key"), path.join(directory, "cert")];
      const args = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
      const { status } = spawnSync("openssl", [...args, "-subj", "/CN=localhost", "-keyout", key, "-out", cert]);
      if (status !== 0) return null;
      const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (_request, response) =>
        response.end("{}"),
      );
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      return new SelfSigned(server);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
