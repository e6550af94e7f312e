import type { LinePackage } from "../../analysis/document.ts";
import type { AttributedLine } from "../../snapshot/attributed-line.ts";
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
  for (const name of names) {
    const own = lines.filter(({ line }) => packages.get(line)?.name === name);
    const inside = own.filter(({ line }) => packages.get(line)?.relation !== "called");
    const callers = own.filter(({ line }) => packages.get(line)?.relation === "called");
    const together = callers.length === 1 ? [...callers, ...inside] : inside;
    const share = together.reduce((sum, one) => sum + one.share, 0);
    const [first, ...others] = together;
    if (first === undefined || inside.length === 0 || others.length === 0 || share < MIN_LEAK_SHARE) continue;
    const leak: NamedLine = { ...first, kind: "leak", share: Math.min(1, share), others: others.length };
    return [leak, ...lines.filter((one) => !together.includes(one))];
  }
  return lines;
}
