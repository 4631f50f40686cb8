import { dirname } from 'node:path';
import type { Reader } from '../../engine/host/host.ts';
import { command } from '../../engine/host/step.ts';
import { acceptedFile } from '../../engine/resource/file/accepted-file.ts';
import { directory } from '../../engine/resource/file/directory.ts';
import { file } from '../../engine/resource/file/file.ts';
import { eventually } from '../../engine/resource/job/eventually.ts';
import {
  drift,
  driftOf,
  fileChange,
  ok,
  type Resource,
  unitChange,
  unknownUntil,
  type Verdict,
} from '../../engine/resource/resource.ts';
import { packages } from '../../engine/resource/system/packages.ts';
import { ownUnits, service } from '../../engine/resource/system/service.ts';
import type { RenderContext } from '../render/render-context.ts';
import { layer1Unit } from '../server/layer1-unit.ts';
import { choosesLayer1 } from '../variables/layer1.ts';
import type { Variables } from '../variables/variables.ts';
import { readLayer1 } from './answer.ts';
import { layer1Folder } from './paths.ts';
import { layer1Files, unitFile } from './render.ts';

/** It has asked all providers some seconds after its start. */
const choosesWithin = 30;

const unitPath = `${ownUnits}${layer1Unit}`;

/**
 * HAProxy on the Database+Sync server chooses one of several providers of layer 1, and one at least
 * can be used. A server that was the Database+Sync server has it no more. With one address, role
 * sync ends it, once the synchronizer no longer uses it.
 */
export function layer1IsChosen({ host, vars }: Pick<RenderContext, 'host' | 'vars'>): Resource[] {
  if (!host.groups.includes('database')) return [noChoiceIsLeft()];
  if (!choosesLayer1(vars)) return [];
  const { main, others, hash } = layer1Files(vars);
  const paths = [...others, main].map(({ path }) => path);
  return [
    packages('haproxy'),
    directory(dirname(layer1Folder)),
    directory(layer1Folder).mode(0o700),
    ...others.map(({ path, content }) => file(path).content(content).mode(0o600)),
    acceptedFile({
      ...main,
      judge: ['haproxy', '-c', '-q', '-f'],
      source: 'templates/layer1/haproxy.cfg',
      mode: 0o600,
    }),
    file(unitPath).content(unitFile()),
    service(layer1Unit, [unitPath, ...paths]),
    eventually('a provider of layer 1 can be used', (reader) => oneIsUsed(reader, vars, hash), {
      seconds: choosesWithin,
      hint: `the reason is in the journal of the server: journalctl -u ${layer1Unit}`,
    }),
  ];
}

async function oneIsUsed(host: Reader, vars: Variables, hash: string): Promise<Verdict> {
  const answer = await readLayer1(host, vars);
  if (!answer.ok) return unknownUntil(`${layer1Unit} runs`);
  const { judged, configuration, providers } = answer.value;
  if (!judged || configuration !== hash) return unknownUntil(`${layer1Unit} runs with its files`);
  if (providers.some(({ used }) => used)) return ok;
  return drift(providers.map(({ provider, reason }) => `${provider}: ${reason}`).join('; '));
}

/** Its files hold keys of providers, which do not stay behind. */
export function noChoiceIsLeft(): Resource {
  return {
    name: 'no choice of layer 1 is left',
    changes: () => [fileChange(unitPath), unitChange(layer1Unit)],
    async check(host) {
      const found = await Promise.all([unitPath, layer1Folder].map((path) => host.stat(path)));
      const left = [unitPath, layer1Folder].filter((_, at) => found[at] !== undefined);
      return driftOf(
        left.map((path) => ({ what: path, was: 'there', wanted: 'absent' })),
        [
          command`systemctl --quiet disable --now ${layer1Unit} 2>/dev/null || true
            rm -rf ${unitPath} ${layer1Folder}
            systemctl daemon-reload`,
        ],
      );
    },
  };
}
