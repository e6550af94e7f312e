"use strict";

// When the live memory is written down: at seconds of the process, or at steps that the program writes to the step
// file.

const fs = require("node:fs");
const path = require("node:path");

const STEP_POLL_MS = 20;

/** {kind, at} of STORMLOG_GATE_ATTRIBUTE_AT; null when it is not valid. */
function parseMoments(text) {
  const match = /^(steps|seconds):([\d.,eE+]+)$/.exec(text);
  if (match === null) return null;
  const at = [...new Set(match[2].split(",").map(Number))].sort((a, b) => a - b);
  return at.every((value) => Number.isFinite(value) && value >= 0) ? { kind: match[1], at } : null;
}

/** Seconds since the run began, 0 when unknown: the gate writes its recording file just before. */
function runAge(directory) {
  try {
    const { mtimeMs } = fs.statSync(path.join(path.dirname(directory), "recording.json"));
    return Math.max(0, (Date.now() - mtimeMs) / 1000);
  } catch {
    return process.uptime();
  }
}

/** Calls `take(moment, step)` once for each moment, in order; one that was overtaken is left out. */
class Schedule {
  /** `age`: seconds that the run has lasted already, which is what moments in seconds are counted from. */
  constructor({ kind, at }, stepFile, age, take) {
    this.began = process.uptime() - age;
    this.kind = kind;
    this.at = at;
    this.next = 0;
    this.taken = 0;
    this.step = null;
    this.stepFile = stepFile;
    this.take = take;
    this.timer = null;
    this.old = "";
    // Taking a moment is slow beside the program's work, so its time does not count as the program's.
    this.spent = 0;
  }

  /** Seconds the program has had for itself. */
  get elapsed() {
    return process.uptime() - this.began - this.spent;
  }

  start() {
    if (this.kind === "steps") {
      if (this.stepFile === null) return;
      // A step that is there already was written by another process.
      this.old = this.stepText();
      this.timer = setInterval(() => this.look(), STEP_POLL_MS);
      this.timer.unref();
    } else {
      this.arm();
    }
  }

  /** A timer that never keeps the process alive. */
  arm() {
    if (this.over) return;
    const left = Math.max(1, 1000 * (this.at[this.next] - this.elapsed));
    this.timer = setTimeout(() => this.look(), Math.min(left, 2 ** 30));
    this.timer.unref();
  }

  get over() {
    return this.next >= this.at.length;
  }

  stop() {
    clearTimeout(this.timer);
    this.next = this.at.length;
  }

  /** Called by the timer, and now and then by the program's own work: a loop that never waits lets no timer run. */
  look() {
    if (this.over) return;
    if (this.kind === "steps") this.readStep();
    const now = this.kind === "steps" ? (this.step ?? -1) : this.elapsed;
    if (now >= this.at[this.next]) {
      let moment = this.next;
      while (moment + 1 < this.at.length && this.at[moment + 1] <= now) moment += 1;
      this.next = moment + 1;
      const began = process.uptime();
      this.take(moment, this.step);
      this.spent += process.uptime() - began;
      this.taken += 1;
    }
    if (this.over) clearTimeout(this.timer);
    else if (this.kind === "seconds") this.arm();
  }

  readStep() {
    const text = this.stepText();
    if (text === this.old) return;
    const step = Number(text);
    if (text !== "" && Number.isInteger(step) && step >= 0) this.step = step;
  }

  stepText() {
    try {
      return fs.readFileSync(this.stepFile, "utf8").trim();
    } catch {
      return "";
    }
  }
}

module.exports = { parseMoments, runAge, Schedule };
