import { job } from '../../engine/resource/job/job.ts';
import { drift, ok, type Resource } from '../../engine/resource/resource.ts';
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
export function drillPasses(vars: Variables, time: string): Resource {
  const drill = job(`a recovery drill to ${time} passes`, {
    unit: `${product}-drill`,
    script: `exec ${recoveryProgram} drill ${dataFolder(vars, 'backup')}/drill ${time}\n`,
    // The program puts the result of an earlier one aside before it begins.
    done: async (host) =>
      (await host.stat(`${resultsFolder}/drill-passed`)) ? ok : drift('it did not pass'),
  });
  return { ...drill, check: async () => drift('it was not run yet'), provesItself: true };
}
