import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Part, Table } from "./part.ts";

const ROUNDS = { quick: 300, full: 3000 } as const;
const WIDE = 64 * 1024 * 1024;

const cellsOf = (row: string): string[] =>
  row
    .slice(1, -1)
    .split("|")
    .map((cell) => cell.trim());

/** The peak gate in its noise worlds (`worlds.ts`, which also runs on its own): its blocks of rows as tables. */
export const peaks: Part = ({ quick }) => {
  const worlds = fileURLToPath(new URL("../worlds.ts", import.meta.url));
  const args = [...process.execArgv, worlds, String(quick ? ROUNDS.quick : ROUNDS.full)];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", maxBuffer: WIDE });
  if (status !== 0) throw new Error(`worlds.ts failed:\n${stderr}`);
  const tables: Table[] = [];
  let title = "";
  let note = "";
  let rows: string[][] = [];
  const close = (): void => {
    if (rows.length > 0) tables.push({ title: `Peak gate: ${title}`, note, rows });
    rows = [];
  };
  for (const line of stdout.split("\n")) {
    if (line.startsWith("|")) rows.push(cellsOf(line));
    else if (line.startsWith("seed ")) note = line;
    else if (line !== "") {
      close();
      title = line;
    } else close();
  }
  close();
  return tables;
};
