/** Runs no more than so many pieces of work at once; the others wait for their turn, in order. */
export class Slots {
  #limit: number;
  #busy = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#limit = count;
  }

  /** Pieces of work under way. */
  get busy(): number {
    return this.#busy;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
      this.#admit();
    });
    try {
      return await work();
    } finally {
      this.#busy -= 1;
      this.#admit();
    }
  }

  /** From now on one fewer than are under way, and never none. */
  lower(): void {
    this.#limit = Math.max(1, this.#busy - 1);
  }

  #admit(): void {
    while (this.#busy < this.#limit) {
      const next = this.#waiting.shift();
      if (!next) return;
      this.#busy += 1;
      next();
    }
  }
}
