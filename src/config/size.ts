import { usageError } from "../core/errors.ts";
import { parseSize } from "../core/units.ts";

/** Bytes without a unit: "85.0e9". */
const SCIENTIFIC = /^\s*\d+(?:\.\d+)?e\d{1,2}\s*$/i;

/**
 * Parse the size of an option or of the config file: "512MiB", "4096", "85.0e9".
 * @throws GateError SIZE_INVALID (usage)
 */
export function parseBytes(text: string): number {
  const bytes = SCIENTIFIC.test(text) ? Math.floor(Number(text)) : Number.NaN;
  return Number.isSafeInteger(bytes) ? bytes : parseSize(text);
}

/**
 * Parse a memory size with an optional name, "80GB=85.0e9".
 * @throws GateError SIZE_INVALID, OPTION_INVALID (usage)
 */
export function parseFits(text: string): { readonly name: string; readonly bytes: number } {
  const at = text.indexOf("=");
  const [name, size] = at > 0 ? [text.slice(0, at), text.slice(at + 1)] : [text, text];
  const bytes = parseBytes(size);
  if (bytes === 0) {
    throw usageError(
      "OPTION_INVALID",
      `--fits "${text}" is not a size above 0`,
      "Write for example --fits 80GB=85.0e9.",
    );
  }
  return { name, bytes };
}
