import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { alertmanagerFile } from '../../lib/node/monitor/alertmanager.ts';
import type { Receiver } from '../../lib/node/variables/monitoring-schema.ts';
import { get, until } from '../gateway/gateway.ts';
import { alertmanager } from '../monitoring-programs.mjs';
import { alertmanagerPort, start } from './prometheus.ts';

const sinkPort = 28494;

/** The receiver of alerts in an inventory: a server of the test. */
export const receivers: Receiver[] = [
  {
    name: 'sink',
    severity: 'warning',
    configs: { webhook_configs: [{ url: `http://127.0.0.1:${sinkPort}/` }] },
  },
  {
    name: 'outside',
    severity: 'heartbeat',
    configs: { webhook_configs: [{ url: `http://127.0.0.1:${sinkPort}/outside` }] },
  },
];

/** A real Alertmanager with the file of a monitor, and its receiver. */
export interface Alertmanager {
  /** Whether the receiver takes what it gets. */
  takes: boolean;
  /** The addresses at which it got something, in their order. */
  readonly got: string[];
  /** Sends an alert of its own, as a deploy does after a change of the receivers. */
  sendTest(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
  end(): Promise<void>;
}

/** Puts the templates of a folder where Alertmanager reads them, and becomes the program. */
const withTemplates = `mount -t tmpfs tmpfs /usr/share
mkdir -p /usr/share/prometheus/alertmanager
cp "$0"/*.tmpl /usr/share/prometheus/alertmanager/
exec "$@"`;

/**
 * @param folder for its files
 * @param edit of its configuration
 */
export async function startAlertmanager(
  folder: string,
  edit: (text: string) => string = (text) => text,
): Promise<Alertmanager> {
  const sink = createServer(({ url = '' }, response) => {
    manager.got.push(url);
    response.writeHead(manager.takes ? 200 : 503).end();
  });
  await new Promise<void>((resolve) => sink.listen(sinkPort, '127.0.0.1', resolve));
  await writeFile(join(folder, 'alertmanager.yml'), edit(alertmanagerFile(receivers).text));
  // In a mount namespace of its own: the templates have absolute paths.
  const words = [
    ...['--mount', 'sh', '-ec', withTemplates, dirname(alertmanager), alertmanager],
    `--config.file=${folder}/alertmanager.yml`,
    `--storage.path=${folder}/alertmanager`,
    `--web.listen-address=127.0.0.1:${alertmanagerPort}`,
    '--cluster.listen-address=',
  ];
  let program: ReturnType<typeof start> | undefined;
  const manager: Alertmanager = {
    takes: true,
    got: [],
    async sendTest() {
      const labels = { alertname: 'TestAlert', receiver: 'sink', severity: 'warning', test: `${Date.now()}` };
      const headers = { 'Content-Type': 'application/json' };
      const sent = { port: alertmanagerPort, path: '/api/v2/alerts', body: [{ labels }], headers };
      const { status, text } = await get(sent);
      if (status !== 200) throw new Error(`Alertmanager answers HTTP ${status}: ${text}`);
    },
    async start() {
      const started = start('unshare', words);
      program = started;
      const answers = async () => (await get({ port: alertmanagerPort, path: '/-/ready' })).status === 200;
      await until(answers, started.log, 60);
    },
    stop: async () => program?.stop(),
    async end() {
      await manager.stop();
      sink.close();
      sink.closeAllConnections();
    },
  };
  await manager.start();
  return manager;
}
