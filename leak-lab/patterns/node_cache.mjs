// A cache without a bound, in a Node service.
//
// Answers are kept by request, and no two requests are the same: their key has the time in it. Every look-up misses,
// and every answer stays.
//
// Keeps with every step: one answer (128 KiB).
import { main, PAYLOAD } from "./leaklab/host.mjs";

function leaky() {
  // leak begins
  const answers = new Map();
  return (number) => {
    const key = `${number % 8}?at=${number}`;
    if (!answers.has(key)) answers.set(key, Buffer.alloc(PAYLOAD, 1));
    return answers.get(key);
  };
  // leak ends
}

function fixed() {
  const MAX = 8;
  const answers = new Map();
  return (number) => {
    const key = number % 8;
    if (!answers.has(key)) answers.set(key, Buffer.alloc(PAYLOAD, 1));
    if (answers.size > MAX) answers.delete(answers.keys().next().value);
    return answers.get(key);
  };
}

await main({ leaky, fixed });
