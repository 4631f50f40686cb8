import type { Reader, Writer } from '../../engine/host/host.ts';
import { lastWords } from '../../engine/host/last-words.ts';
import { command } from '../../engine/host/step.ts';
import { Failure, type Problem } from '../../engine/problem/problem.ts';
import { file } from '../../engine/resource/file/file.ts';
import { pause } from '../../engine/resource/job/pause.ts';
import { checkParts, type Part } from '../../engine/resource/parts.ts';
import type { Resource, Verdict, Work } from '../../engine/resource/resource.ts';
import { drift, driftOf, fileChange, ok, unitChange, unknownUntil } from '../../engine/resource/resource.ts';
import { readFleet } from './fleet.ts';
import { gatewayFolder } from './paths.ts';
import type { GatewayFile } from './render.ts';

type Files = readonly GatewayFile[];

/** HAProxy reads the new files a second after a reload at the latest. Seconds. */
const reloadLimit = 15;

const refusal = {
  what: 'HAProxy refuses its configuration, and keeps the one it has',
  hint: 'see templates/gateway in this project',
};

/**
 * Checked, then put in place: HAProxy's own check reads all of them in a folder beside their own
 * first.
 */
export function checkedFiles(files: Files): Resource {
  const staging = `${gatewayFolder}.new`;
  const partsIn = (folder: string) =>
    files.map(({ path, content }): Part => {
      // Scripts of the threads are named with their folder.
      const text =
        typeof content === 'string'
          ? content.replaceAll(`lua-load-per-thread ${gatewayFolder}/`, `lua-load-per-thread ${folder}/`)
          : content;
      return [`${path}: `, file(path.replace(gatewayFolder, folder)).content(text).mode(0o600)];
    });
  const [parts, trials] = [partsIn(gatewayFolder), partsIn(staging)];
  const judge = command({ timeoutSeconds: 60, failure: refusal })`
    said=$(haproxy -c -f ${staging}/haproxy.cfg 2>&1) && rm -rf ${staging} && exit
    rm -rf ${staging}
    printf '%s\\n' "$said" | sed -n 's/^\\[ALERT\\] *([0-9]*) : //p' >&2
    exit 1`;
  return {
    name: `HAProxy accepts the files in ${gatewayFolder}`,
    changes: () => files.map(({ path }) => fileChange(path)),

    async check(host) {
      const [own, tried] = await Promise.all([checkParts(host, parts), checkParts(host, trials)]);
      const makeRoom = command`umask 077 && mkdir -p ${staging}`;
      const steps = [makeRoom, ...tried.steps.flat(), judge, ...own.steps.flat()];
      return driftOf(own.differences, own.refusal ?? tried.refusal ?? steps);
    },
  };
}

/**
 * HAProxy is enabled and runs with these files: it names the hash of those that it has read. A
 * reload keeps all connections; a restart is done only where it runs with other files.
 */
export function runsWith(files: Files, hash: string, port: number): Work {
  const unit = 'haproxy.service';
  return {
    name: `${unit} is enabled and runs with the files in ${gatewayFolder}`,
    changes: () => [unitChange(unit)],
    follows: files.map(({ path }) => ({ what: fileChange(path), effect: 'is reloaded', certain: true })),

    async check(host) {
      const [state, fleet] = await Promise.all([host.unit(unit), readFleet(host, port)]);
      if (state.load === 'not-found') return unknownUntil(`${unit} is installed`);
      const configuration = fleet.ok && fleet.value.configuration === hash ? hash : 'other files';
      const runs = fleet.ok ? configuration : fleet.error;
      return driftOf(
        [
          { what: 'at boot', was: state.enabled, wanted: 'enabled' },
          { what: 'state', was: state.active, wanted: 'active' },
          { what: 'runs with', was: runs, wanted: hash },
        ].filter(({ was, wanted }) => was !== wanted),
      );
    },

    async work(host) {
      const ours = (await readFleet(host, port)).ok;
      const done = await host.run({ allow: [0, 1] })`
        systemctl --quiet enable ${unit} && systemctl daemon-reload && systemctl ${ours ? 'reload-or-restart' : 'restart'} ${unit}`;
      const until = performance.now() + reloadLimit * 1000;
      let fleet = await readFleet(host, port);
      while (done.ok && !(fleet.ok && fleet.value.configuration === hash)) {
        if (performance.now() > until) break;
        await pause(host, 0.5);
        fleet = await readFleet(host, port);
      }
      if (done.ok && fleet.ok && fleet.value.configuration === hash) return;
      throw await notRunning(host, fleet.ok ? 'it runs with other files' : fleet.error);
    },
  };
}

async function notRunning(host: Writer, why: string): Promise<Problem> {
  const said = await host.$`sh -c ${lastWords} last-words haproxy.service 12 --unit=haproxy.service`;
  return new Failure(`haproxy.service does not run with its files: ${why}\n${said.text()}`.trim(), {
    hint: 'see systemctl status haproxy.service',
  });
}

/** Whether any RPC host may serve by this gateway. */
export async function anyServes(host: Reader, port: number): Promise<Verdict> {
  const fleet = await readFleet(host, port);
  if (!fleet.ok) return unknownUntil('HAProxy runs');
  if (fleet.value.hosts.some(({ serves }) => serves)) return ok;
  return drift(
    fleet.value.hosts.map(({ host: name, reason }) => `${name}: ${reason ?? 'not asked yet'}`).join('; '),
  );
}
