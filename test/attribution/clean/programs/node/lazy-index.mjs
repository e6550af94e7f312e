// Holds an index as a private field, about 8 MiB, built at 70 % of the steps. Bounded: it is built once from texts that
// no longer change.

import { rounds } from "./pace.mjs";

class Library {
  #index = null;
  constructor() {
    this.texts = Array.from({ length: 30_000 }, (_, at) => `text ${at} of the library`);
  }

  find(name) {
    this.#index ??= new Map(this.texts.map((text, at) => [text, { at, words: text.split(" ") }]));
    return this.#index.get(name);
  }
}

const library = new Library();
let found = 0;
for await (const number of rounds(120, { steps: true }))
  if (number >= 84) found += library.find(`text ${number} of the library`).words.length;
console.log(found);
