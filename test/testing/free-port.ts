import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Above the ports of common services, and below those that Linux gives to connections by itself (32,768 to 60,999). */
const FIRST = 20_000;
const LAST = 32_000;

/** A port of this machine for a program that needs its number: free just now, and no connection gets it by chance. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, LAST);
    const server = createServer();
    const opened = once(server, "listening").then(
      () => true,
      () => false,
    );
    server.listen(port, "127.0.0.1");
    if (!(await opened)) continue;
    server.close();
    await once(server, "close");
    return port;
  }
}
