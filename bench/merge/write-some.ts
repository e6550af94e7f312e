/** Writes every COUNTth shard from FIRST on, in a separate process: DIR FIRST COUNT RANKS SAMPLES. */
import { writeShard } from "./shards.ts";

const [directory = "", ...numbers] = process.argv.slice(2);
const [first = 0, every = 1, ranks = 1, samples = 1] = numbers.map(Number);
for (let rank = first; rank < ranks; rank += every) await writeShard(directory, rank, ranks, samples);
