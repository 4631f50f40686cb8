import type { Action } from '../host/action.ts';
import type { Reader, UnitState } from '../host/host.ts';
import type { RecordedRead } from '../host/reads/recorded-read.ts';
import { statRead } from '../host/reads/stat.ts';
import { activityOf, unitRead } from '../host/reads/unit.ts';
import { ownUnits } from '../resource/system/service.ts';
import { bytesOf } from '../secret/secret.ts';

/** The contents that changes leave in files, and the units that these files make, before the changes are made. */
export class Foreseen {
  readonly #contents = new Map<string, Buffer>();

  add(steps: readonly Action[]): void {
    for (const step of steps)
      if (step.do === 'rewrite' || (step.do === 'write' && !step.secret))
        this.#contents.set(step.path, bytesOf(step.content));
  }

  /** Whether one of the steps needs another content than the file has then. */
  isRewritten(steps: readonly Action[]): boolean {
    return steps.some((step) => step.do === 'rewrite' && this.#contents.has(step.path));
  }

  /** A reader that answers with the contents. */
  contents(host: Reader): Reader {
    return { ...host, read: async (path) => this.#contents.get(path) ?? host.read(path) };
  }

  /**
   * A reader for a start of a unit that is not there, if all that its check has read is units and files that will be new. The start is
   * safe where the unit does not run: that is the fact that is read again.
   */
  units(reads: ReadonlySet<RecordedRead>): ((host: Reader, reads: Set<RecordedRead>) => Reader) | undefined {
    const units = new Map<string, UnitState>();
    for (const { vector, answer } of reads) {
      const key = String(vector?.key);
      const content = this.#contents.get(vector?.read === unitRead ? ownUnits + unitRead.id(key) : key);
      if (content === undefined) return undefined;
      if (vector?.read === statRead) continue;
      const { load, active } = answer as UnitState;
      if (vector?.read !== unitRead || load !== 'not-found' || active !== 'inactive') return undefined;
      const enabled = /^\[Install\]/m.test(content.toString()) ? 'disabled' : 'static';
      units.set(key, { ...(answer as UnitState), load: 'loaded', enabled });
    }
    if (units.size === 0) return undefined;
    return (host, recorded) => ({
      ...host,
      stat: async () => undefined,
      unit: async (name) => {
        recorded.add({ text: activityOf(name) });
        return units.get(name) ?? host.unit(name);
      },
    });
  }
}
