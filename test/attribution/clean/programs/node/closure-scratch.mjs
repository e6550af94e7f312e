// Holds a scratch array of 16 MiB in a closure. Bounded: it is made at the first large request, at 30 % of the run, and
// used again.

import { rounds } from "./pace.mjs";

function renderer() {
  let scratch = null;
  return (size) => {
    if (size > 4096) scratch ??= new Float64Array(2 * 2 ** 20);
    const area = scratch ?? new Float64Array(size);
    return area.fill(1, 0, 8).subarray(0, 8).length;
  };
}

const render = renderer();
let total = 0;
for await (const number of rounds(120)) total += render(number >= 36 ? 65_536 : 1024);
console.log(total);
