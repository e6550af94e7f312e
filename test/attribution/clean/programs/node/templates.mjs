// Holds compiled templates by their text. Bounded: there are 60 templates, compiled when they are first rendered, all
// of them at half of the run.

import { rounds } from "./pace.mjs";

const compiled = new Map();

function template(number) {
  const text = `Hello {{name}}, your order ${number} of {{count}} items is on its way. `.repeat(20);
  let render = compiled.get(text);
  if (render === undefined) {
    const body = JSON.stringify(text).replace(/\{\{(\w+)\}\}/g, '" + values.$1 + "');
    render = new Function("values", `return ${body};`);
    compiled.set(text, render);
  }
  return render;
}

let length = 0;
for await (const number of rounds(120)) length += template(number % 60)({ name: "reader", count: number }).length;
console.log(length, compiled.size);
