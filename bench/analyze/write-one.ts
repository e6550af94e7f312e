/** Writes one file of the bench in a separate process: FORMAT PATH VALUES. */
import { FILE_FORMATS, writeBenchFile } from "./files.ts";

const [word, path = "", values] = process.argv.slice(2);
const format = FILE_FORMATS.find((one) => one === word);
if (format === undefined) throw new Error(`${word} is none of ${FILE_FORMATS.join(", ")}`);
writeBenchFile(format, path, Number(values));
