import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { packageRoot } from "../../src/core/package-root.ts";
import type { Result } from "../shared/figures.ts";

/** Where packages are: a Python with gunicorn, FastAPI, aiohttp, gRPC; one with PyTorch; node_modules with Express. */
export interface Installed {
  readonly python: string;
  readonly torch: string;
  readonly modules: string;
}

interface Service {
  readonly name: string;
  /** Must exit with 0 where the service can run. */
  readonly needs: readonly string[];
  readonly start: string;
  readonly ready?: string;
  /** A command; else the gate's own generator. */
  readonly load?: string;
  /** Part of the requests that leak; 0 where recycling hides it. */
  readonly share?: number;
  readonly env?: Readonly<Record<string, string>>;
}

const PROGRAMS = fileURLToPath(new URL("programs", import.meta.url));
const program = (name: string): string => path.join(PROGRAMS, name);

function services({ python, torch, modules }: Installed, directory: string): readonly Service[] {
  const packages = (name: string): readonly string[] => [python, "-c", `import ${name}`];
  const gunicorn = `${python} -m gunicorn --chdir ${PROGRAMS} -b 127.0.0.1:{PORT}`;
  const binary = path.join(directory, "service");
  return [
    {
      name: "FastAPI",
      needs: packages("fastapi, uvicorn"),
      start: `${python} -m uvicorn --app-dir ${PROGRAMS} --port {PORT} --log-level warning fastapi_items:app`,
    },
    { name: "aiohttp", needs: packages("aiohttp"), start: `${python} ${program("aiohttp_rows.py")} {PORT}` },
    {
      name: "gunicorn, one of four preloaded workers",
      needs: packages("gunicorn"),
      start: `${gunicorn} -w 4 --preload wsgi_table:app`,
      share: 1 / 4,
      env: { ONE: path.join(directory, "one") },
    },
    {
      name: "gunicorn, two workers recycled every 300 requests",
      needs: packages("gunicorn"),
      start: `${gunicorn} -w 2 --max-requests 300 wsgi_table:app`,
      share: 0,
    },
    {
      name: "gRPC",
      needs: packages("grpc"),
      start: `${python} ${program("grpc_server.py")} {PORT}`,
      ready: "serving",
      load: `${python} ${program("grpc_load.py")} {PORT}`,
    },
    { name: "PyTorch", needs: [torch, "-c", "import torch"], start: `${torch} ${program("torch_cache.py")} {PORT}` },
    {
      name: "Express",
      needs: [process.execPath, "-e", `require("${modules}/express")`],
      start: `${process.execPath} ${program("express_rows.cjs")} {PORT}`,
      env: { NODE_PATH: modules },
    },
    { name: "Node", needs: ["true"], start: `${process.execPath} ${program("node_rows.mjs")} {PORT}` },
    {
      name: "Java, G1",
      needs: ["javac", "-d", directory, program("JavaLines.java")],
      start: `java -Xmx1g -XX:+UseG1GC -cp ${directory} JavaLines {PORT}`,
    },
    { name: "Go", needs: ["go", "build", "-o", binary, program("go_lines.go")], start: `${binary} {PORT}` },
    {
      name: "C++",
      needs: ["g++", "-O2", "-pthread", "-o", binary, program("cpp_blocks.cc")],
      start: `${binary} {PORT}`,
    },
  ];
}

interface Judged {
  readonly verdict: string;
  /** Of host memory: its class, and bytes a request. */
  readonly class: string;
  readonly perRequest: number | null;
  readonly seconds: number;
}

interface Report {
  readonly payload: {
    readonly scenarios: readonly {
      readonly verdict: string;
      readonly runs: readonly {
        readonly analysis: {
          readonly series: readonly { metric: string; class: string; growth_bytes_per_request?: number | null }[];
        } | null;
      }[];
    }[];
  };
}

function judged(service: Service, leak: number, directory: string): Judged {
  const url = "http://127.0.0.1:{PORT}/";
  const load = service.load ?? { url };
  const plan = { start: service.start, ready: service.ready ?? url, load };
  const config = path.join(directory, "stormlog-gate.yml");
  const bundle = path.join(directory, "bundle");
  rmSync(bundle, { recursive: true, force: true });
  rmSync(path.join(directory, "one"), { force: true });
  writeFileSync(config, JSON.stringify({ scenarios: [{ name: "service", service: plan }] }));
  const cli = path.join(packageRoot(), "dist/cli.js");
  const argv = ["run", "--config", config, "--bundle", bundle, "--baseline", "none", "--base-run", "off"];
  const began = performance.now();
  const env = { ...process.env, ...service.env, LEAK: String(leak) };
  const { stdout, stderr } = spawnSync(process.execPath, [cli, ...argv], { cwd: directory, env, encoding: "utf8" });
  const seconds = (performance.now() - began) / 1000;
  const { payload } = JSON.parse(readFileSync(path.join(bundle, "report.json"), "utf8")) as Report;
  const [scenario] = payload.scenarios;
  const host = scenario?.runs[0]?.analysis?.series.find(({ metric }) => metric === "host");
  if (scenario === undefined || host === undefined) throw new Error(`${service.name}: ${stdout}${stderr}`);
  return { verdict: scenario.verdict, class: host.class, perRequest: host.growth_bytes_per_request ?? null, seconds };
}

/**
 * Real services without a baseline: unchanged ones, which may not be red, and with a leak of this many bytes a request,
 * which must be. @param only a part of a name; empty for all
 */
export function realServices(
  installed: Installed,
  leaks: readonly number[],
  runs: number,
  only: string,
  directory: string,
): Result[] {
  return services(installed, directory)
    .filter(({ name }) => name.includes(only))
    .flatMap((service) => {
      mkdirSync(directory, { recursive: true });
      const [file = "", ...args] = service.needs;
      const { status } = spawnSync(file, args);
      if (status !== 0) return [{ name: service.name, skipped: `\`${file}\` has not what it needs` }];
      return leaks
        .filter((leak) => leak === 0 || service.share !== 0)
        .map((leak): Result => {
          const taken = Array.from({ length: runs }, () => judged(service, leak, directory));
          const red = taken.filter(({ verdict }) => verdict === "fail").length;
          const truth = leak * (service.share ?? 1);
          const rates = taken
            .map(({ perRequest }) => (perRequest === null ? "none" : perRequest.toFixed(0)))
            .join(", ");
          return {
            name: `${service.name}: ${leak === 0 ? "unchanged, red" : `${truth} B a request, not red`}`,
            value: leak === 0 ? red : runs - red,
            interval: null,
            limit: 0,
            unit: `of ${runs}`,
            note: `${taken.map((one) => one.class).join(", ")}; ${rates} B a request; at most ${Math.max(...taken.map(({ seconds }) => seconds)).toFixed(0)} s`,
          };
        });
    });
}
