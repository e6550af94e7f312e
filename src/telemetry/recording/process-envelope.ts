/** Stretches that are kept of a process's life; when there are more, neighbours are joined. */
const MAX_STRETCHES = 128;

/** The least and the most of a process's own memory in stretches of its life, in a bounded room for any length. */
export class ProcessEnvelope {
  /** Begin of each stretch, nanoseconds. */
  readonly timesNs: number[] = [];
  readonly least: number[] = [];
  readonly most: number[] = [];
  #readings = 0;
  #perStretch = 1;

  push(timeNs: number, bytes: number): void {
    const last = this.timesNs.length - 1;
    if (this.#readings % this.#perStretch !== 0) {
      this.least[last] = Math.min(this.least[last]!, bytes);
      this.most[last] = Math.max(this.most[last]!, bytes);
    } else {
      if (this.timesNs.length === MAX_STRETCHES) this.#join();
      this.timesNs.push(timeNs);
      this.least.push(bytes);
      this.most.push(bytes);
    }
    this.#readings++;
  }

  #join(): void {
    for (let i = 0; 2 * i < MAX_STRETCHES; i++) {
      this.timesNs[i] = this.timesNs[2 * i]!;
      this.least[i] = Math.min(this.least[2 * i]!, this.least[2 * i + 1]!);
      this.most[i] = Math.max(this.most[2 * i]!, this.most[2 * i + 1]!);
    }
    for (const values of [this.timesNs, this.least, this.most]) values.length = MAX_STRETCHES / 2;
    this.#perStretch *= 2;
  }
}
