// A queue that is filled and emptied.
const queue = [];
let done = 0;
for (let round = 0; round < 6000; round++) {
  for (let i = 0; i < 200; i++) queue.push({ round, i, body: Buffer.alloc(1000, i) });
  while (queue.length > 0) done += queue.shift().body.length;
}
console.log(done);
