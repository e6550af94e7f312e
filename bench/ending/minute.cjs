// A program that works at one level of memory for some seconds. Usage: node minute.cjs SECONDS
const until = Date.now() + Number(process.argv[2]) * 1e3;
const blocks = Array.from({ length: 64 }, () => Buffer.alloc(256 << 10, 1));
let turn = 0;
const timer = setInterval(() => {
  if (Date.now() >= until) clearInterval(timer);
  blocks[turn++ % blocks.length].fill(turn & 255);
}, 20);
