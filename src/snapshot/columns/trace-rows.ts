import type { Budget } from "../pickle/budget.ts";
import { NO_STACK } from "./stacks.ts";

const PAGE_BITS = 13;
const PAGE = 1 << PAGE_BITS;
/** Bytes per row. */
const ROW_BYTES = 1 + 4 * 8 + 2 * 4;

/** One page of trace rows: one array per column, so that a row costs 41 bytes. */
export type TracePage = ReturnType<typeof newPage>;

function newPage(rows: number) {
  return {
    action: new Uint8Array(rows),
    addr: new Float64Array(rows),
    size: new Float64Array(rows),
    stream: new Float64Array(rows),
    time: new Float64Array(rows),
    stack: new Uint32Array(rows),
    pool: new Uint32Array(rows),
  };
}

const COLUMNS = Object.keys(newPage(0)) as (keyof TracePage)[];

/** Columns of trace entries. Unknown numbers are NaN, an unknown stack {@link NO_STACK}, an unknown pool 0. */
export class TraceRows {
  #pages: TracePage[] = [];
  #used = 0;
  readonly #budget: Budget;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  /** A new row without values. */
  add(): number {
    const row = this.#used++;
    const at = row & (PAGE - 1);
    if (at === 0) {
      this.#budget.charge(ROW_BYTES * PAGE);
      this.#pages.push(newPage(PAGE));
    }
    const page = this.page(row);
    page.addr[at] = Number.NaN;
    page.size[at] = Number.NaN;
    page.stream[at] = Number.NaN;
    page.time[at] = Number.NaN;
    page.stack[at] = NO_STACK;
    return row;
  }

  page(row: number): TracePage {
    return this.#pages[row >>> PAGE_BITS] as TracePage;
  }

  /** Index of a row in its page. */
  place(row: number): number {
    return row & (PAGE - 1);
  }

  /** The rows of the given runs, in order, as columns of exact length. */
  gather(runs: readonly { readonly start: number; readonly count: number }[]): TracePage & { readonly length: number } {
    const length = runs.reduce((sum, { count }) => sum + count, 0);
    this.#budget.charge(ROW_BYTES * length);
    const all = newPage(length);
    let to = 0;
    for (const { start, count } of runs) {
      for (let row = start; row < start + count; ) {
        const from = row & (PAGE - 1);
        const part = Math.min(start + count - row, PAGE - from);
        const page = this.page(row);
        for (const name of COLUMNS) all[name].set(page[name].subarray(from, from + part), to);
        to += part;
        row += part;
      }
    }
    return { ...all, length };
  }
}
