import { directory, file, packages, service } from '../../engine/resource/kinds.ts';
import type { Resource } from '../../engine/resource/resource.ts';
import { product } from '../server/product.ts';

interface PackageUnit {
  /** Of the distribution; its unit and its program have the same name. */
  readonly name: string;
  /** The program's options, without characters that systemd or a shell reads. */
  readonly options: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Files that it reads at its start only. */
  readonly reads?: readonly string[];
  /** Resources between the installation and the start, such as its folders. */
  readonly before?: readonly Resource[];
}

/** A daemon from the distribution's package, with options of our own by a drop-in: the package's files stay as they are. */
export function packageUnit({ name, options, environment = {}, reads = [], before = [] }: PackageUnit): Resource[] {
  const folder = `/etc/systemd/system/${name}.service.d`;
  const dropIn = `${folder}/${product}.conf`;
  const lines = [
    '[Unit]',
    // The engine loads the firewall, and forgets rules at its own start.
    'After=docker.service',
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
    directory(folder),
    file(dropIn).content(`${lines.join('\n')}\n`),
    service(name, [dropIn, ...reads]),
  ];
}
