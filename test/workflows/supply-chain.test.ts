import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { packageRoot } from "../../src/core/package-root.ts";
import { cycloneDxSchemas, schemaValidator } from "../action/testing/tools.ts";
import { type Ended, ran } from "./testing/tools.ts";

interface Bundled {
  readonly directory: string;
  readonly name: string;
  readonly version: string;
}
interface Component {
  readonly type: string;
  readonly "bom-ref": string;
  readonly group?: string;
  readonly name: string;
  readonly version?: string;
  readonly purl?: string;
  readonly licenses?: readonly unknown[];
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly externalReferences?: readonly { readonly url: string; readonly hashes: readonly unknown[] }[];
}
interface Bill {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly serialNumber: string;
  readonly version: number;
  readonly metadata: { readonly timestamp: string; readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

const root = packageRoot();
const read = (file: string): string => readFileSync(path.join(root, file), "utf8");

// Bundles the whole project, and starts npm: on a busy machine both are slow.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 });

let directory: string;
let list: string;
let packages: readonly Bundled[];
let bill: Bill;

function script(name: string, ...args: readonly string[]): Ended {
  return ran(process.execPath, [`scripts/release/${name}.mjs`, ...args], { cwd: root });
}

beforeAll(() => {
  directory = mkdtempSync(path.join(tmpdir(), "stormlog-supply-"));
  list = path.join(directory, "bundled.json");
  const listed = script("bundled", "--into", list);
  expect(listed.code, listed.stderr).toBe(0);
  packages = JSON.parse(readFileSync(list, "utf8"));
  const written = script("sbom", "--packages", list);
  expect(written.code, written.stderr).toBe(0);
  bill = JSON.parse(written.stdout);
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe("the dependencies of the package", () => {
  it("the package installs without any other package", () => {
    const manifest = JSON.parse(read("package.json"));
    const kinds = Object.keys(manifest).filter((name) => /dependencies$/i.test(name));
    expect(kinds).toEqual(["devDependencies"]);
    const locked: Readonly<Record<string, { dev?: boolean }>> = JSON.parse(read("package-lock.json")).packages;
    expect(Object.entries(locked).filter(([name, { dev }]) => name !== "" && dev !== true)).toEqual([]);
  });

  it("the list of bundled packages is that of the licence file, and has no tool of the tests", () => {
    const titles = [...read("dist/licenses.txt").matchAll(/^((?:@[\w.-]+\/)?[\w.-]+ \d+\.\d+\.\d+\S*) \(.*\)$/gm)];
    const bundled = packages.map(({ name, version }) => `${name} ${version}`);
    expect([...new Set(bundled)].sort()).toEqual([...new Set(titles.map(([, title]) => title))].sort());
    // Two versions of one package are two entries.
    expect(bundled.filter((title) => title.startsWith("@actions/http-client "))).toHaveLength(2);
    for (const tool of ["vitest", "esbuild", "typescript", "knip"]) {
      expect(packages.map(({ name }) => name)).not.toContain(tool);
    }
  });
});

describe("the bill of materials", () => {
  it("the bill of materials lists each bundled package with version, address, licence and digest", () => {
    const libraries = bill.components.filter(({ type }) => type === "library");
    const named = libraries.map(
      ({ group, name, version }) => `${group === undefined ? "" : `${group}/`}${name} ${version}`,
    );
    expect(named.sort()).toEqual([...new Set(packages.map(({ name, version }) => `${name} ${version}`))].sort());
    for (const { name, purl, externalReferences } of libraries) {
      expect(purl, name).toMatch(/^pkg:npm\/(?:%40[\w.-]+\/)?[\w.-]+@\d+\.\d+\.\d+/);
      expect(externalReferences?.[0]?.url, name).toMatch(/^https:\/\/registry\.npmjs\.org\/.+\/-\/.+\.tgz$/);
      expect(externalReferences?.[0]?.hashes, name).toEqual([
        { alg: "SHA-512", content: expect.stringMatching(/^[0-9a-f]{128}$/) },
      ]);
    }
    // Its manifest has none; unknown is left out.
    expect(libraries.filter(({ licenses }) => licenses?.length !== 1).map(({ name }) => name)).toEqual(["buffers"]);
  });

  it("the bill of materials lists each native prebuild with the digest that was recorded for it", () => {
    const recorded = read("dist/prebuilds/SHA256SUMS").trim().split("\n").sort();
    const files = bill.components.filter(({ type }) => type === "file");
    const listed = files.map(({ name, hashes }) => `${hashes?.[0]?.content}  ${name.replace("dist/prebuilds/", "")}`);
    expect(listed.sort()).toEqual(recorded);
    // The addon is compiled with headers of packages, so an advisory for them reaches it.
    const addon = bill.dependencies.find(({ ref }) => ref === "dist/prebuilds/linux-x64/sampler.node");
    expect(addon?.dependsOn.map((ref) => ref.split("@")[0])).toEqual([
      "pkg:npm/node-addon-api",
      "pkg:npm/node-api-headers",
    ]);
  });

  it("the bill of materials has the required fields of CycloneDX, and its references resolve", () => {
    expect(bill).toMatchObject({ bomFormat: "CycloneDX", specVersion: "1.6", version: 1 });
    expect(bill.serialNumber).toMatch(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(new Date(bill.metadata.timestamp).toISOString()).toBe(bill.metadata.timestamp);
    const all = [bill.metadata.component, ...bill.components];
    const refs = all.map((component) => component["bom-ref"]);
    expect(new Set(refs).size).toBe(refs.length);
    for (const { type, name } of all) expect([type, name.length > 0]).toEqual([expect.any(String), true]);
    expect(bill.dependencies.map(({ ref }) => ref).sort()).toEqual([...refs].sort());
    for (const { dependsOn } of bill.dependencies) {
      expect(new Set(dependsOn).size).toBe(dependsOn.length);
      expect(refs).toEqual(expect.arrayContaining([...dependsOn]));
    }
    // From the gate everything can be reached: nothing is listed without a reason.
    const reached = new Set<string>();
    const queue = [bill.metadata.component["bom-ref"]];
    for (let ref = queue.pop(); ref !== undefined; ref = queue.pop()) {
      if (reached.has(ref)) continue;
      reached.add(ref);
      queue.push(...(bill.dependencies.find((one) => one.ref === ref)?.dependsOn ?? []));
    }
    expect([...reached].sort()).toEqual([...refs].sort());
  });

  it.skipIf(cycloneDxSchemas() === null)(
    "the bill of materials is valid by the published schema, which rejects an unknown licence (STORMLOG_TEST_INSTALL=1)",
    () => {
      const [[name, file] = ["", ""], ...others] = cycloneDxSchemas() ?? [];
      const schema = JSON.parse(readFileSync(file, "utf8"));
      const validator = schemaValidator();
      // Formats beyond JSON Schema's own: syntax of addresses, which the tests above check.
      for (const format of ["date-time", "email", "idn-email", "iri-reference", "string", "uri"]) {
        validator.addFormat(format, true);
      }
      for (const [key, other] of others)
        validator.addSchema(JSON.parse(readFileSync(other, "utf8")), `http://cyclonedx.org/schema/${key}`);
      expect(validator.validate(schema, bill), `${name}: ${validator.errorsText()}`).toBe(true);
      const [first, ...rest] = bill.components;
      const spoiled = { ...bill, components: [{ ...first, licenses: [{ license: { id: "NO-SUCH" } }] }, ...rest] };
      expect(validator.validate(schema, spoiled)).toBe(false);
    },
  );

  it("the bill of materials is the same for the same commit, and names the commit", () => {
    const head = ran("git", ["rev-parse", "HEAD"], { cwd: root }).stdout.trim();
    const again = script("sbom", "--packages", list, "--commit", head);
    expect(JSON.parse(again.stdout)).toEqual(bill);
    expect(JSON.stringify(bill.metadata)).toContain(head);
    expect(script("sbom", "--packages", list, "--commit", "no-such-commit").stderr).toMatch(/^release: git rev-parse/);
  });
});

describe("the audit of what dist/ contains", () => {
  /** A registry that knows these advisories; without any answer where the list is null. */
  const registry = async (
    advisories: Readonly<Record<string, readonly object[]>> | null,
  ): Promise<{
    readonly server: Server;
    readonly address: string;
    readonly asked: Record<string, readonly string[]>;
  }> => {
    const asked: Record<string, readonly string[]> = {};
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        if (advisories === null || !request.url?.endsWith("/advisories/bulk")) {
          response.writeHead(advisories === null ? 503 : 404).end();
          return;
        }
        const body = Buffer.concat(chunks);
        const zipped = request.headers["content-encoding"] === "gzip";
        Object.assign(asked, JSON.parse((zipped ? gunzipSync(body) : body).toString("utf8")));
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(advisories));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return { server, address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, asked };
  };

  const audit = (address: string, ...args: readonly string[]): Promise<Ended> =>
    new Promise((resolve) => {
      const argv = ["scripts/release/audit.mjs", "--packages", list, ...args];
      const env = { ...process.env, npm_config_registry: address, npm_config_cache: path.join(directory, "cache") };
      execFile(process.execPath, argv, { cwd: root, env, encoding: "utf8" }, (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
      });
    });

  it("the audit asks about exactly the bundled packages and passes without an advisory", async () => {
    const { server, address, asked } = await registry({});
    try {
      const ended = await audit(address, "--required");
      expect([ended.code, ended.stdout]).toEqual([
        0,
        `audit: no advisory for the ${packages.length} packages that dist/ contains\n`,
      ]);
      const questions = Object.entries(asked).flatMap(([name, versions]) => versions.map((one) => `${name} ${one}`));
      expect(questions.sort()).toEqual([...new Set(packages.map(({ name, version }) => `${name} ${version}`))].sort());
    } finally {
      server.close();
    }
  });

  it("the audit fails on an advisory for a bundled version, and names it", async () => {
    const advisory = {
      id: 1,
      url: "https://github.com/advisories/GHSA-test",
      title: "A planted flaw",
      severity: "low",
      vulnerable_versions: ">=4.0.0 <5",
      cwe: [],
      cvss: { score: 0, vectorString: null },
    };
    const { server, address } = await registry({ "@actions/http-client": [advisory] });
    try {
      const { code, stderr } = await audit(address);
      expect(code).toBe(1);
      expect(stderr).toContain("release: advisories for what dist/ contains:\n@actions/http-client >=4.0.0 <5: low:");
      expect(stderr).toContain("https://github.com/advisories/GHSA-test");
    } finally {
      server.close();
    }
  });

  it("the audit without an answer is skipped in words, and fails where it is required", async () => {
    const { server, address } = await registry(null);
    try {
      const skipped = await audit(address);
      expect([skipped.code, skipped.stdout]).toEqual([
        0,
        expect.stringContaining("skipped: the registry did not answer"),
      ]);
      const required = await audit(address, "--required");
      expect([required.code, required.stderr]).toEqual([1, expect.stringContaining("could not be audited: 503")]);
    } finally {
      server.close();
    }
  });
});

describe("the prebuilds, built again", () => {
  it("a comparison with another compiler is skipped in words, and fails where it is required", () => {
    const other = path.join(directory, "x86_64-linux-gnu-g++");
    writeFileSync(other, "#!/bin/sh\necho 'g++ (Other 1-1) 1.2.3'\n", { mode: 0o755 });
    const compare = (...args: readonly string[]): Ended =>
      ran("bash", ["scripts/ci/compare-prebuilds.sh", ...args], {
        cwd: root,
        env: { PATH: `${directory}:${process.env.PATH}` },
      });
    const skipped = compare();
    expect([skipped.code, skipped.stdout]).toEqual([0, expect.stringContaining("here is GCC: (Other 1-1) 1.2.3")]);
    expect(compare("--required").code).toBe(1);
  });
});
