import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parse } from 'yaml';
import { Failure } from '../../engine/problem/problem.ts';
import { type Content, secretContent } from '../../engine/resource/file/content.ts';
import { drift, fileChange, ok, unknownUntil, type Work } from '../../engine/resource/resource.ts';
import { Secret } from '../../engine/secret/secret.ts';
import { product } from '../server/product.ts';
import { monitoringPorts } from '../variables/monitoring.ts';
import type { Receiver } from '../variables/monitoring-schema.ts';

const template = readFileSync(
  new URL('../../../templates/monitor/alertmanager.yml', import.meta.url),
  'utf8',
);
const testAlert = readFileSync(new URL('../../../templates/host/test-alert.sh', import.meta.url), 'utf8');

/** Alertmanager's configuration: the template with the receivers of the inventory. */
export function alertmanagerFile(receivers: readonly Receiver[]): Content {
  const base = parse(template) as { route: object; receivers: object[] };
  const alert = 'alertname="TestAlert"';
  const tests = receivers.map(({ name }) => ({
    receiver: name,
    matchers: [alert, `receiver="${name}"`],
    group_by: ['...'],
    group_wait: '0s',
  }));
  const routes = receivers.map(({ name, severity }) => ({
    receiver: name,
    matchers: [severity === 'warning' ? 'severity=~"warning|critical"' : `severity="${severity}"`],
    // Alertmanager looks each minute, and then sends what is older.
    ...(severity === 'heartbeat' && { group_wait: '0s', repeat_interval: '50s' }),
    continue: true,
  }));
  const configuration = {
    ...base,
    route: { ...base.route, routes: [...tests, ...routes] },
    receivers: [...base.receivers, ...receivers.map(({ name, configs }) => ({ name, ...configs }))],
  };
  // In JSON, which is YAML as well. Only the names of its keys are shown: any value of a receiver
  // may be a secret.
  return secretContent(`${JSON.stringify(revealed(configuration), undefined, 2)}\n`, /\S/);
}

/** A tree with its secrets as text. */
function revealed(tree: unknown): unknown {
  if (tree instanceof Secret) return tree.reveal();
  if (Array.isArray(tree)) return tree.map(revealed);
  if (typeof tree !== 'object' || tree === null) return tree;
  return Object.fromEntries(Object.entries(tree).map(([key, value]) => [key, revealed(value)]));
}

/**
 * Every receiver took a test alert since the receivers changed. It is sent by this Alertmanager,
 * with its own settings; a file on the monitor has the hash of the configuration that was tested.
 *
 * @param path of Alertmanager's configuration
 */
export function receiversAnswer(receivers: readonly Receiver[], path: string): Work {
  const stamp = `/var/lib/${product}/monitor/tested`;
  return {
    name: 'every receiver of alerts takes a test alert',
    follows: [{ what: fileChange(path), effect: 'is sent', certain: true }],
    async check(host) {
      const [hash, tested] = await Promise.all([host.sha256(path), host.read(stamp)]);
      if (hash === undefined) return unknownUntil('Alertmanager has its configuration');
      return tested?.toString() === hash ? ok : drift('none was sent since the receivers changed');
    },
    async work(host) {
      for (const { name, configs } of receivers) {
        const count = Object.values(configs).flat().length;
        const words = [String(monitoringPorts.alertmanager), name, String(count)];
        const sent = await host.run({
          allow: [0, 1],
          timeoutSeconds: 120,
        })`sh -c ${testAlert} test-alert ${words}`;
        if (!sent.ok) {
          throw new Failure(`receiver ${name} took no test alert\n${sent.stderr.trim()}`, {
            hint: `correct monitoring.receivers in the inventory, or make ${name} reachable from ${host.name}; the next run tests it again`,
          });
        }
      }
      const hash = await host.sha256(path);
      await host.run`mkdir -p ${dirname(stamp)} && printf %s ${hash ?? ''} >${stamp}.new && mv ${stamp}.new ${stamp}`;
    },
  };
}
