import { Failure } from '../../engine/problem/problem.ts';
import { runInUnit } from '../../engine/resource/job/job.ts';
import { drift, expectation, ok, type Resource, type Work } from '../../engine/resource/resource.ts';
import { resultsFolder } from '../backup/folders.ts';
import { recoveryProgram } from '../backup/programs.ts';
import { product } from '../server/product.ts';
import { dataFolder } from '../variables/data-folders.ts';
import type { Variables } from '../variables/variables.ts';

/**
 * A recovery drill on the backup host. It runs each time: an earlier one that passed proves
 * nothing.
 *
 * @param time as `AskedRecovery` has it
 */
export function drillPasses(vars: Variables, time: string): Work {
  const title = `a recovery drill to ${time} passes`;
  const script = `exec ${recoveryProgram} drill ${dataFolder(vars, 'backup')}/drill ${time}\n`;
  return {
    name: title,
    check: async () => drift('it was not run yet'),
    provesItself: true,
    async work(host) {
      // Without `done`: its answer would be that of an earlier drill. The program puts the result of
      // that one aside before it begins.
      await runInUnit(host, { unit: `${product}-drill`, title, script });
      if (await host.stat(`${resultsFolder}/drill-passed`)) return;
      throw new Failure(`${title}: it did not pass`);
    },
  };
}

/** Shows what the newest drill that passed has compared, and when. */
export function resultOfDrill(): Resource {
  return expectation('the newest drill that passed', {
    check: async (host) => {
      const path = `${resultsFolder}/drill-passed`;
      const [words, stat] = await Promise.all([host.read(path), host.stat(path)]);
      if (!words || !stat) return ok;
      const time = new Date(stat.modified * 1000).toISOString().replace(/\.\d+/, '');
      return { is: 'ok', note: `${words.toString().trim()} (${time})` };
    },
  });
}
