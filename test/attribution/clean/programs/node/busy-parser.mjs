// Holds the document that it is parsing. Bounded: each round parses a text of 200 KiB and keeps one number of it; the
// program computes without a pause, so garbage piles up until V8 collects it.

const text = JSON.stringify(
  Array.from({ length: 2500 }, (_, at) => ({ at, name: `item ${at}`, tags: ["a", "b", `${at}`] })),
);
let total = 0;
for (const until = performance.now() + 2500; performance.now() < until; ) {
  total = (total + JSON.parse(text).filter(({ at }) => at % 3 === 0).length) % 1_000_003;
}
console.log(total > 0);
