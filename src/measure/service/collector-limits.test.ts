import { describe, expect, it } from "vitest";
import { collectorLimits } from "./collector-limits.ts";

const argv = (...words: string[]) => ({ kind: "argv", argv: words }) as const;
const MIB = 2 ** 20;

describe("the limits of collectors", () => {
  it("the heap of Java is limited by its last option before the program", () => {
    const command = argv("java", "-Xmx1g", "-cp", "a:b", "-Xmx512m", "Main", "-Xmx8g");
    expect(collectorLimits(command, {})).toEqual([{ of: "-Xmx", bytes: 512 * MIB }]);
    expect(collectorLimits(argv("java", "-jar", "app.jar", "-Xmx8g"), {})).toEqual([]);
    expect(collectorLimits({ kind: "shell", script: "exec java -XX:MaxHeapSize=64M -jar app.jar" }, {})).toEqual([
      { of: "-Xmx", bytes: 64 * MIB },
    ]);
  });

  it("the environment of Java comes before the command, or has the last say", () => {
    const command = argv("java", "-Xmx512m", "-jar", "app.jar");
    expect(collectorLimits(command, { JAVA_TOOL_OPTIONS: "-Xmx1g" })).toEqual([{ of: "-Xmx", bytes: 512 * MIB }]);
    expect(collectorLimits(command, { _JAVA_OPTIONS: "-Xmx1g" })).toEqual([{ of: "-Xmx", bytes: 1024 * MIB }]);
    expect(collectorLimits(argv("./gradlew", "run"), { JAVA_TOOL_OPTIONS: "-ea -Xmx1g" })).toHaveLength(1);
  });

  it("the heap of Go is limited by its variable, unless it is off", () => {
    const go = (value: string) => collectorLimits(argv("./server"), { GOMEMLIMIT: value });
    expect(go("2GiB")).toEqual([{ of: "GOMEMLIMIT", bytes: 2048 * MIB }]);
    expect(go("1048576")).toEqual([{ of: "GOMEMLIMIT", bytes: MIB }]);
    expect(go("off")).toEqual([]);
    expect(collectorLimits({ kind: "shell", script: "GOMEMLIMIT=100MiB ./server" }, {})).toHaveLength(1);
  });

  it("other commands have no limit that is known", () => {
    expect(collectorLimits(argv("node", "--max-old-space-size=512", "server.js"), {})).toEqual([]);
    expect(collectorLimits(argv("python3", "app.py", "-Xmx1g"), {})).toEqual([]);
  });
});
