import { dirname } from 'node:path';
import { directory, file, packages, service } from '../../engine/resource/kinds.ts';
import type { Resource } from '../../engine/resource/resource.ts';
import { unitSettings } from '../server/unit-settings.ts';

interface PackageUnit {
  /** Name of the package in the distribution. Its unit and its program have the same name. */
  readonly name: string;
  /** The program's options, without characters that systemd or a shell reads. */
  readonly options: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Files that the daemon reads only when it starts. */
  readonly reads?: readonly string[];
  /** Resources between the installation and the start, such as its folders. */
  readonly before?: readonly Resource[];
}

/**
 * A daemon from the distribution's package, with options of our own by a drop-in: the package's
 * files stay as they are.
 */
export function packageUnit({
  name,
  options,
  environment = {},
  reads = [],
  before = [],
}: PackageUnit): Resource[] {
  const dropIn = unitSettings(`${name}.service`);
  const lines = [
    '[Service]',
    ...Object.entries(environment).map(([key, value]) => `Environment=${key}=${value}`),
    'Restart=always',
    'RestartSec=5s',
    'ExecStart=',
    `ExecStart=/usr/bin/${[name, ...options].join(' ')}`,
  ];
  return [
    packages(name),
    ...before,
    directory(dirname(dropIn)),
    file(dropIn).content(`${lines.join('\n')}\n`),
    service(name, [dropIn, ...reads]),
  ];
}
