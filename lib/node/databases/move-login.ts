import toml from '@iarna/toml';
import type { Reader } from '../../engine/host/host.ts';
import { command } from '../../engine/host/step.ts';
import { file } from '../../engine/resource/file/file.ts';
import {
  containerChange,
  drift,
  fileChange,
  ok,
  type Resource,
  unknownUntil,
} from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { maskedContent } from '../../engine/template/mask.ts';
import type { Override } from '../../engine/template/override.ts';
import { withOverrides } from '../../engine/template/override.ts';
import { hasFormer } from '../variables/rotation.ts';
import type { Variables } from '../variables/variables.ts';
import type { Login } from './log-in.ts';
import { wayBack, wordsOf } from './log-in.ts';
import { temporaryUser, whileChanging } from './temporary-login.ts';

type Deployment = Pick<Context<Variables>, 'host' | 'hosts' | 'vars'>;

/** The file in which a program finds its logins. */
type LoginFile = 'node.config.toml' | 'prover.config.json';

const stores: Readonly<Record<LoginFile, readonly Login['of'][]>> = {
  'node.config.toml': ['state', 'pool'],
  'prover.config.json': ['prover'],
};

/** How long a program may take to stop. Seconds. */
const stopLimit = 120;

const pathOf = ({ vars }: Pick<Deployment, 'vars'>, name: LoginFile) => `${vars.paths.deployment}/${name}`;

/**
 * A file has the temporary logins in place of those whose passwords are being changed. All else in
 * it stays as it is on the host: a change of the configuration or of the version comes later.
 */
export function fileHasTemporaryLogins(deployment: Deployment, name: LoginFile): Resource {
  const path = pathOf(deployment, name);
  return {
    name: `${name} has the second logins`,
    changes: () => [fileChange(path)],
    check: (host) =>
      whileChanging(host, deployment, stores[name], async (changing) => {
        const found = changing.length > 0 ? await host.read(path) : undefined;
        if (found === undefined) return ok;
        const text = found.toString('utf8');
        const format = name === 'node.config.toml' ? 'toml' : 'json';
        const moved = withOverrides(text, { file: path, format }, overridesOf(text, changing, format));
        return file(path)
          .content(maskedContent(moved, format, true))
          .mode(0o600)
          .check(host);
      }),
  };
}

function overridesOf(text: string, changing: readonly Login[], format: 'toml' | 'json'): readonly Override[] {
  if (format === 'json') {
    const { databaseURL: url = '' } = JSON.parse(text) as { databaseURL?: string };
    return changing.map(({ of, credentials: { password } }) => {
      const login = `${temporaryUser(of)}:${password.reveal()}`;
      return { path: ['databaseURL'], value: url.replace(/^(\w+:\/\/)[^@]*@/, `$1${login}@`) };
    });
  }
  // The older generation has the state database at the top.
  const sections = {
    state: 'StateDB' in toml.parse(text) ? ['StateDB'] : ['State', 'DB'],
    pool: ['Pool', 'DB'],
    prover: [],
  };
  return changing.flatMap(({ of, credentials: { password } }) => [
    { path: [...sections[of], 'User'], value: temporaryUser(of) },
    { path: [...sections[of], 'Password'], value: password.reveal() },
  ]);
}

/** A container that runs has read the temporary logins of its file. */
export function readsTemporaryLogins(deployment: Deployment, container: string, name: LoginFile): Resource {
  const path = pathOf(deployment, name);
  return {
    name: `${container} uses the second logins`,
    changes: () => [containerChange(container)],
    follows: [{ what: fileChange(path), effect: 'is restarted', certain: true }],
    async check(host) {
      const [state, stat, content] = await Promise.all([
        host.container(container),
        host.stat(path),
        host.read(path),
      ]);
      // It reads them at its next start.
      if (!state?.running || !stat || !hasTemporaryLogin(content)) return ok;
      if (Date.parse(state.startedAt) / 1000 >= stat.modified) return ok;
      const difference = { what: 'started', was: `before ${path} changed`, wanted: 'after it' };
      return drift([difference], [command`docker restart --time ${stopLimit} ${container}`]);
    },
  };
}

function hasTemporaryLogin(content: Buffer | undefined): boolean {
  return content !== undefined && /rpc_node_(state|pool|prover)_next/.test(content.toString('utf8'));
}

/**
 * A file with passwords, written once the databases have those: a container that restarts by itself
 * before would read one that is not valid yet. A recovery does not wait for the server that it
 * replaces.
 */
export function afterPasswordChange(
  deployment: Deployment & Pick<Context<Variables>, 'given'>,
  resource: Resource,
): Resource {
  if (!hasFormer(deployment.vars) || deployment.given['to-time'] !== undefined) return resource;
  const check = (host: Reader) =>
    whileChanging(host, deployment, ['state', 'prover', 'pool'], (changing) =>
      changing.length === 0 ? resource.check(host) : unknownUntil(`${wordsOf(changing)} is changed`),
    );
  return { ...resource, check, hint: resource.hint ?? wayBack };
}
