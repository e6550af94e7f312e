// Runs the commands of docs/walkthrough.md in a fresh directory and prints what they print.
//
//   npx tsx scripts/walkthrough.ts             only print
//   npx tsx scripts/walkthrough.ts --write     and put it into the page, with the picture of the leak
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { packageRoot } from "../src/core/package-root.ts";
import { pageSteps, withOutputs } from "./walkthrough-page.ts";
import { pythonWithTorch, WalkthroughDirectory } from "./walkthrough-run.ts";

const file = path.join(packageRoot(), "docs", "walkthrough.md");
const page = readFileSync(file, "utf8");
const python = pythonWithTorch();
if (python === null) throw new Error("no Python here has PyTorch");
const place = new WalkthroughDirectory(python);
try {
  const outputs = pageSteps(page).map(({ command }) => {
    console.log(`$ ${command}`);
    const output = place.run(command);
    console.log(`${output}\n`);
    return output;
  });
  if (process.argv.includes("--write")) {
    writeFileSync(file, withOutputs(page, outputs));
    const picture = path.join(packageRoot(), "docs", "images", "walkthrough-leaky.png");
    copyFileSync(path.join(place.directory, "leaky", "timeline.png"), picture);
  }
} finally {
  place.remove();
}
