import { realpathSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { temporary } from "../../../test/testing/temporary.ts";
import { type RaisedWall, wallOfRun } from "./wall.ts";

it("the wall of a later run leaves out the socket of a program that has ended since the first", () => {
  const directory = realpathSync(temporary("wall"));
  const sockets = ["one", "other"].map((name) => path.join(directory, name));
  for (const file of sockets) writeFileSync(file, "");
  const raised: RaisedWall = {
    isolation: { wanted: "auto", got: "user", reason: null },
    wall: { kind: "user", sudo: null, readOnly: [], mounts: new Map(sockets.map((file) => [file, "w/nothing"])) },
    lower: () => {},
  };
  const covered = () => sockets.filter((file) => wallOfRun(raised, directory, null)?.mounts.includes(file));
  expect(covered()).toEqual(sockets);
  rmSync(path.join(directory, "one"));
  expect(covered()).toEqual([path.join(directory, "other")]);
});
