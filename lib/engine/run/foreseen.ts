import type { Reader } from '../host/host.ts';
import type { Step } from '../host/step.ts';
import { bytesOf } from '../secret/secret.ts';

/** The contents that changes leave in files, before the changes are made. */
export class Foreseen {
  readonly #contents = new Map<string, Buffer>();

  add(steps: readonly Step[]): void {
    for (const step of steps)
      if (step.do === 'rewrite' || (step.do === 'write' && !step.secret))
        this.#contents.set(step.path, bytesOf(step.content));
  }

  /** Whether one of the steps needs another content than the file has then. */
  isRewritten(steps: readonly Step[]): boolean {
    return steps.some((step) => dependsOnContent(step) && this.#contents.has(step.path));
  }

  /** A reader that answers with the contents. */
  contents(host: Reader): Reader {
    return { ...host, read: async (path) => this.#contents.get(path) ?? host.read(path) };
  }
}

/** Whether the content that a step writes depends on what the file has before. */
export function dependsOnContent(step: Step): step is Step & { do: 'write' | 'rewrite' } {
  return step.do === 'rewrite' || (step.do === 'write' && step.merges === true);
}
