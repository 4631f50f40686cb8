import { randomBytes } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { docker } from '../../lab/docker.mjs';
import { connect } from '../../lib/engine/host/connection.ts';
import type { ConnectionSettings } from '../../lib/engine/inventory/inventory.ts';
import { download } from '../../lib/engine/resource/download/download.ts';
import { job } from '../../lib/engine/resource/job/job.ts';
import { drift } from '../../lib/engine/resource/resource.ts';
import { recordedRun } from '../../lib/engine/run/testing/recorded-run.ts';
import { formsOf } from '../ssh/forms-of.ts';
import { scratchHost } from './scratch.ts';

let settings: ConnectionSettings;
let container: string;

beforeAll(async () => {
  const scratch = await scratchHost();
  ({ settings, container } = scratch);
  return scratch.remove;
});

/** No other text has it. */
const canary = `canary${randomBytes(8).toString('hex')}`;
const seen = '/run/canary-seen';
/** What grep looks for: as an argument of grep it would find itself. */
const pattern = '/run/canary-pattern';

/** A program of another user on the host, which looks at all processes without a pause. */
const sampler = `while [ ! -e ${seen}.end ]; do
  cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr "\\0" "\\n" | grep -a -f ${pattern} >>${seen}
  echo >>${seen}.samples
done`;

const inHost = (user: string, script: string, input = '') =>
  docker(['exec', '-i', '--user', user, container, 'sh', '-c', script], { input });

test('what every user of a host may read has no address and no script of long work, while it runs and afterwards', async () => {
  const there = `http://172.30.77.10:8080/${canary}/genesis.json?key=${canary}`;
  await inHost(
    'root',
    `mkdir /srv/arguments; touch ${seen} ${seen}.samples; chmod 666 ${seen}*; cat >${pattern}`,
    formsOf(canary).join('\n'),
  );
  const sampling = inHost('nobody', sampler);
  const resources = [
    download({ url: there, path: '/srv/arguments/file', sha256: '0'.repeat(64) }),
    job(`a job for ${there}`, {
      unit: 'arguments-job',
      script: `url='${there}'\nsleep 3; exit 1\n`,
      done: async () => drift('never'),
    }),
  ];
  for (const resource of resources) {
    // Each fails at its end.
    await recordedRun(await connect('scratch', settings), [resource], { check: false });
  }
  const shown = await inHost(
    'nobody',
    `systemctl show '*' 2>/dev/null | grep -f ${pattern}; 
    grep -rl -f ${pattern} --exclude='canary-*' /run /etc/systemd /usr/local /var/lib /srv 2>/dev/null; :`,
  );
  await inHost('root', `touch ${seen}.end`);
  await sampling;
  expect(Number(await inHost('root', `wc -l <${seen}.samples`))).toBeGreaterThan(3);
  // The unit of the job that failed is still there.
  expect(await inHost('nobody', 'systemctl show arguments-job.service')).toContain(
    'http://172.30.77.10:8080',
  );
  expect(shown).toBe('');
  expect(await inHost('root', `cat ${seen}`)).toBe('');
});
