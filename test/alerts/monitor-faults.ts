import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Alertmanager } from './alertmanager.ts';
import type { Fault } from './fault.ts';
import type { Prometheus } from './prometheus.ts';

/** A rule that promtool accepts, and that fails when two hosts have the same label. */
const failing = {
  groups: [
    {
      name: 'own',
      rules: [
        { alert: 'Own', expr: 'node_filesystem_avail_bytes * on (instance) node_filesystem_size_bytes > 0' },
      ],
    },
  ],
};

/** Faults of the monitor itself. */
export function monitorFaults(monitor: Prometheus, alertmanager: Alertmanager, name: string): Fault[] {
  const edit = async (file: string, change: (text: string) => string) => {
    const path = join(monitor.folder, file);
    await writeFile(path, change(await readFile(path, 'utf8')));
  };
  let [targets, configuration] = ['', ''];
  return [
    {
      alert: 'AlertmanagerGone monitor',
      what: 'Alertmanager ends',
      make: () => alertmanager.stop(),
      end: () => alertmanager.start(),
    },
    {
      alert: 'AlertsNotDelivered monitor',
      what: 'the receiver of the alerts answers 503',
      async make() {
        alertmanager.takes = false;
        await alertmanager.sendTest();
      },
      end() {
        alertmanager.takes = true;
      },
    },
    {
      alert: 'RulesFail monitor',
      what: 'a rule cannot be evaluated',
      async make() {
        await writeFile(join(monitor.folder, 'own.rules.yml'), JSON.stringify(failing));
        monitor.reload();
      },
      async end() {
        await writeFile(join(monitor.folder, 'own.rules.yml'), '');
        monitor.reload();
      },
    },
    {
      alert: 'RulesFail monitor',
      what: 'the configuration of Prometheus cannot be read',
      async make() {
        await edit('prometheus.yml', (text) => {
          configuration = text;
          return text.slice(0, -2);
        });
        monitor.reload();
      },
      async end() {
        await edit('prometheus.yml', () => configuration);
        monitor.reload();
      },
    },
    {
      alert: `TargetUnknown ${name}`,
      what: 'a host is lost from the targets of Prometheus',
      hides: true,
      // Without a reload, as after a deploy. No metric of its files is there meanwhile.
      also: [`MetricsOld ${name}`],
      make: () =>
        edit('targets/host.json', (text) => {
          targets = text;
          return '[]';
        }),
      end: () => edit('targets/host.json', () => targets),
    },
  ];
}
