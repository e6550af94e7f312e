"use strict";

// Files of one thread of one process: `<pid>.<n>.<kind>.json`, each there as a whole or not at all.

const fs = require("node:fs");
const path = require("node:path");

class ProcessDocuments {
  constructor(directory) {
    this.directory = directory;
    this.base = null;
  }

  write(kind, document) {
    const file = `${this.claim()}.${kind}.json`;
    fs.writeFileSync(`${file}.part`, JSON.stringify(document));
    fs.renameSync(`${file}.part`, file);
  }

  /** `<directory>/<pid>.<n>`, n being the first that no file of this process has. */
  claim() {
    if (this.base !== null) return this.base;
    const names = new Set(
      fs
        .readdirSync(this.directory)
        .filter((name) => name.startsWith(`${process.pid}.`))
        .map((name) => name.split(".")[1]),
    );
    for (let n = 0; ; n += 1) {
      if (names.has(String(n))) continue;
      const base = path.join(this.directory, `${process.pid}.${n}`);
      try {
        // Threads of one process look for a name at the same time.
        fs.closeSync(fs.openSync(`${base}.node`, "wx"));
        this.base = base;
        return base;
      } catch (error) {
        if (error.code !== "EEXIST") throw error;
      }
    }
  }
}

module.exports = { ProcessDocuments };
