import type { LinePackage } from "../../analysis/series/document.ts";
import type { AttributedLine } from "../../snapshot/growth/attributed-line.ts";
import { MIN_LEAK_SHARE, type NamedLine } from "./name-lines.ts";

type Packages = ReadonlyMap<AttributedLine, LinePackage>;

/**
 * Growth that no line holds a fifth of, since it is spread over a package: its lines, with the one line of the program
 * that calls it, are one leak where they hold a fifth together. Lines of the program that call the same package may
 * have nothing else in common, so two of them are not added up.
 */
export function withPackageShares(named: readonly NamedLine[], packages: Packages): readonly NamedLine[] {
  const growths = [...new Set(named.map(({ growth }) => growth))];
  return growths.flatMap((growth) => {
    const own = named.filter((one) => one.growth === growth);
    return own.some(({ kind }) => kind !== "contributing") ? own : combined(own, packages);
  });
}

function combined(lines: readonly NamedLine[], packages: Packages): readonly NamedLine[] {
  const names = new Set(lines.flatMap(({ line }) => packages.get(line)?.name ?? []));
  const found = [...names].flatMap((name) => {
    const own = lines.filter(({ line }) => packages.get(line)?.name === name);
    const inside = own.filter(({ line }) => packages.get(line)?.relation !== "called");
    const callers = own.filter(({ line }) => packages.get(line)?.relation === "called");
    const together = callers.length === 1 ? [...callers, ...inside] : inside;
    const share = together.reduce((sum, one) => sum + one.share, 0);
    const isLeak = together.length > 1 && inside.length > 0 && share >= MIN_LEAK_SHARE;
    return isLeak ? [{ together, share }] : [];
  });
  const [largest] = found.sort((a, b) => b.share - a.share);
  const [first, ...others] = largest?.together ?? [];
  if (largest === undefined || first === undefined) return lines;
  const leak: NamedLine = { ...first, kind: "leak", share: Math.min(1, largest.share), others: others.length };
  return [leak, ...lines.filter((one) => !largest.together.includes(one))];
}
