import { spawnSync } from 'node:child_process';
import { dirname, relative, resolve } from 'node:path';
import { quote } from '../../engine/host/quote.ts';
import type { Inventory } from '../../engine/inventory/inventory.ts';
import { Problem } from '../../engine/problem/problem.ts';
import { directory, file, schedule } from '../../engine/resource/kinds.ts';
import { drift, expectation, ok, type Resource } from '../../engine/resource/resource.ts';
import type { Schedule } from '../../engine/resource/system/schedule.ts';
import { installation, projectFolder } from '../project/project-folder.ts';
import { product } from '../server/product.ts';
import type { Variables } from '../variables/variables.ts';
import { metricsProgram, textfiles } from './textfiles.ts';

const program = `/usr/local/lib/${product}/drift-check`;

/**
 * Scheduled check mode, on the machine of the playbooks.
 *
 * @param identity the file that opens the inventory's secrets, if they need one
 * @throws Problem where the inventory does not ask for it
 */
export function driftCheck({ name, file: path, hosts }: Inventory<Variables>, identity?: string): Resource[] {
  const wanted = hosts.find(({ vars }) => vars.monitoring.drift_check)?.vars.monitoring.drift_check;
  if (!wanted) {
    throw new Problem('monitoring.drift_check is missing: nothing says how often to check', {
      where: { file: path },
      hint: 'such as monitoring: { drift_check: { every_minutes: 60 } }',
    });
  }
  if (!/^[\w.-]+$/.test(name)) {
    const hint = 'rename its file: the name of the timer has letters, digits, . _ and -';
    throw new Problem(`the inventory "${name}" cannot name a timer`, { where: { file: path }, hint });
  }
  const every = wanted.every_minutes * 60;
  const more = ['-C', projectFolder, ...(identity === undefined ? [] : ['--identity', identity])];
  return [
    expectation(`${textfiles} is there`, {
      check: async (host) => ((await host.stat(textfiles))?.type === 'directory' ? ok : drift('it is not')),
      hint: 'its alerts need node_exporter here, scraped by Prometheus: apt-get install prometheus-node-exporter',
    }),
    directory(dirname(program)),
    file(program).content(metricsProgram('drift-check')).mode(0o755),
    schedule(`${product}-drift-${name}`, {
      every,
      command: quote([
        program,
        process.execPath,
        installation,
        fromProject(path),
        wanted.user,
        every,
        textfiles,
        ...more,
      ]),
      description: `Check mode of the inventory ${name}`,
      ...(hosts.some(({ connection }) => connection.type === 'local')
        ? { sandbox: false }
        : sandboxFor(wanted.user)),
    }),
  ];
}

/** The check works in the project folder, wherever the schedule was made. */
function fromProject(path: string): string {
  const there = relative(projectFolder, resolve(path));
  return there.startsWith('..') ? resolve(path) : there;
}

/**
 * What check mode needs of the controller: the records and what is compiled, and the home of its
 * user, for ssh and for commands of the inventory. Where the controller is itself a host of the
 * inventory there is no sandbox: a check would judge the sandbox.
 */
function sandboxFor(user: string): Pick<Schedule, 'writes' | 'needs'> {
  const { stdout } = spawnSync('getent', ['passwd', user], { encoding: 'utf8' });
  const home = stdout?.trim().split(':')[5];
  const writes = [textfiles, projectFolder, `${installation}/node_modules/.cache`];
  return { writes: home ? [...writes, home] : writes, needs: ['network', 'users', 'code'] };
}
