// An Express service. LEAK: bytes that each request leaves in a Map without a bound.
const express = require("express");

const LEAK = Number(process.env.LEAK ?? 0);
const cache = new Map();
const app = express();
app.get("/", (_request, response) => {
  if (LEAK > 0)
    cache.set(
      cache.size,
      Float64Array.from({ length: LEAK / 8 }, (_, i) => i),
    );
  response.json({ rows: Array.from({ length: 50 }, (_, i) => ({ i, text: `row ${i}` })) });
});
app.listen(Number(process.argv[2]), "127.0.0.1");
