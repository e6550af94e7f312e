import { execFileSync } from "node:child_process";
import path from "node:path";
import { expect, it } from "vitest";
import { packageRoot } from "../../src/core/package-root.ts";

/** A program with so many arrays of eight elements, all kept: how often all followed containers are gone through. */
const PROGRAM = `
const node = process.argv[1];
const { Living } = require(node + "/heap.cjs");
const { Containers } = require(node + "/containers.cjs");
let looks = 0;
const { all } = Living.prototype;
Living.prototype.all = function () {
  looks += 1;
  return all.call(this);
};
const containers = new Containers(() => {});
containers.start();
const kept = [];
for (let at = 0; at < 20000; at += 1) {
  const one = [];
  for (let element = 0; element < 8; element += 1) one.push(element);
  kept[at] = one;
}
console.log(JSON.stringify([looks, containers.living.all().length]));
`;

it("many kept containers are gone through a few times, and none of the probe's own is among them", () => {
  const node = path.join(packageRoot(), "probe", "node");
  const printed = execFileSync(process.execPath, ["-e", PROGRAM, node], { encoding: "utf8" });
  // At 4,096 containers, then whenever they are twice as many and 4,096 more.
  expect(JSON.parse(printed)).toEqual([2, 20_000]);
});
