import { closeSync, openSync } from "node:fs";
import { connect, createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { rankSocket } from "./start-in-session.ts";

describe("the socket of a rank", () => {
  it("the socket of a rank is the one named by its launcher, when it is open", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const address = server.address();
    const socket = connect(typeof address === "object" && address !== null ? address.port : 0, "127.0.0.1");
    await new Promise((resolve) => socket.once("connect", resolve));
    const fd: number = Reflect.get(Reflect.get(socket, "_handle"), "fd");
    expect(rankSocket({ PMI_FD: String(fd) })).toBe(fd);
    socket.destroy();
    server.close();
  });

  it("rankSocket is null where the variable is absent, or names no open descriptor, a file or a standard stream", () => {
    const file = openSync("/dev/null", "r");
    for (const value of [undefined, "", "five", "-1", "1", "99999", String(file)]) {
      expect(rankSocket({ PMI_FD: value })).toBeNull();
    }
    closeSync(file);
  });
});
