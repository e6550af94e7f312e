// Holds the stream that it is compressing. Bounded: a round compresses 512 KiB through a pipeline that waits for its
// sink, and drops it.

import { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { rounds } from "./pace.mjs";

const blocks = Array.from({ length: 8 }, () => Buffer.alloc(65_536, "some text to compress "));
let written = 0;
for await (const _ of rounds(110, { ms: 12 })) {
  const sink = new Writable({
    write(chunk, _encoding, done) {
      written += chunk.length;
      setImmediate(done);
    },
  });
  await pipeline(Readable.from(blocks), createGzip({ level: 1 }), sink);
}
console.log(written);
