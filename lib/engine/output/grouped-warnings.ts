import type { RunEvent } from '../run/events.ts';
import { linesOf, resourceLines, type Style } from './lines.ts';

type Warning = Extract<RunEvent, { type: 'resource-done' }>;

/** The most hosts that a line names. */
const mostNamed = 8;

/**
 * Turns events into lines, and groups equal warnings of several hosts into one: servers that were
 * bought together lack the same things. Warnings are held back until the next play, change or end.
 * With `--verbose` they are not grouped.
 */
export class GroupedWarnings {
  readonly #style: Style;
  /** By their lines without the host's name. */
  readonly #held = new Map<string, Warning[]>();
  #hosts: readonly string[] = [];

  constructor(style: Style) {
    this.#style = style;
  }

  linesOf(event: RunEvent): string[] {
    if (event.type === 'run-started') this.#hosts = event.hosts;
    if (event.type === 'resource-done' && event.outcome === 'warning' && !this.#style.verbose) {
      const words = resourceLines({ ...event, seconds: 0 }, this.#style, '').join('\n');
      this.#held.set(words, [...(this.#held.get(words) ?? []), event]);
      return [];
    }
    // Other hosts reach the same task moments later.
    const before = event.type === 'resource-done' && event.outcome !== 'failed' ? [] : this.release();
    return [...before, ...linesOf(event, this.#style)];
  }

  /** The lines of the warnings that were held back. */
  release(): string[] {
    const groups = [...this.#held.values()];
    this.#held.clear();
    return groups.flatMap((warnings) => {
      const [first, second] = warnings;
      if (!first) return [];
      if (!second) return linesOf(first, this.#style);
      return resourceLines({ ...first, seconds: 0 }, this.#style, this.#named(warnings));
    });
  }

  /** The hosts' names in the order of the inventory. */
  #named(warnings: readonly Warning[]): string {
    const place = (name: string) => this.#hosts.indexOf(name);
    const names = warnings.map(({ task }) => task.host).sort((a, b) => place(a) - place(b));
    const named = names.slice(0, names.length > mostNamed ? mostNamed - 1 : mostNamed).join(', ');
    return names.length > mostNamed ? `${named} and ${names.length - mostNamed + 1} more` : named;
  }
}
