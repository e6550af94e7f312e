// A small service: counts words and remembers the answers to the last thousand different texts.
import { createHash } from "node:crypto";
import { createServer } from "node:http";

const MAX_REMEMBERED = 1000;
const remembered = new Map();

function countWords(text) {
  const key = createHash("sha256").update(text).digest("hex");
  let answer = remembered.get(key);
  if (answer === undefined) {
    answer = { text, words: text.split(/\s+/).filter((word) => word !== "").length };
    // Without this line the map keeps every text that a client sent.
    if (remembered.size >= MAX_REMEMBERED) remembered.delete(remembered.keys().next().value);
    remembered.set(key, answer);
  }
  return answer.words;
}

export function serve() {
  return createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ words: countWords(Buffer.concat(chunks).toString()) }));
  });
}
