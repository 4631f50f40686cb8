import { command } from '../../engine/host/step.ts';
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
  const unit = `${product}-drill`;
  const passed = `${resultsFolder}/drill-passed`;
  const drill = job(`a recovery drill to ${time} passes`, {
    unit,
    script: `exec ${recoveryProgram} drill ${dataFolder(vars, 'backup')}/drill ${time}\n`,
    done: async (host) => ((await host.stat(passed)) ? ok : drift('it did not pass')),
  });
  // The result of an earlier drill would be taken for that of this one.
  const aside = command`systemctl is-active --quiet ${unit}.service || [ ! -e ${passed} ] || mv ${passed} ${passed}.before`;
  return { ...drill, check: async () => drift('it was not run yet', [aside]), provesItself: true };
}
