// A service of Node's own HTTP server. Holds the 500 newest rows; LEAK: bytes that each request leaves in an array.
import { createServer } from "node:http";

const LEAK = Number(process.env.LEAK ?? 0);
const newest = new Map();
const kept = [];
let count = 0;
createServer((_request, response) => {
  count += 1;
  newest.set(count, { count, text: "x".repeat(500) });
  newest.delete(count - 500);
  if (LEAK > 0) kept.push(Buffer.alloc(LEAK, 1));
  response.end(JSON.stringify(newest.get(count)));
}).listen(Number(process.argv[2]), "127.0.0.1");
