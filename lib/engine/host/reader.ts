import type { Connection } from './connection.ts';
import type { CommandOptions, Reader } from './host.ts';
import { Output } from './output.ts';
import { batchOf, readTimeout } from './reads/batch.ts';
import { containerRead } from './reads/container.ts';
import { compareFile, readFile } from './reads/content.ts';
import { packageRead } from './reads/package.ts';
import { sha256Read } from './reads/sha256.ts';
import { sqlRead } from './reads/sql.ts';
import { statRead } from './reads/stat.ts';
import { unitRead } from './reads/unit.ts';
import { shell } from './shell.ts';

/**
 * A Reader over a connection. All reads of one tick are one exec, also those of other Readers and Writers of the connection.
 *
 * @param after what a read with standard input waits for, as it is a request of its own. Default: nothing
 */
export function createReader(
  connection: Connection,
  name: string,
  batch = batchOf(connection),
  after?: Promise<unknown>,
): Reader {
  return {
    name,
    $: shell(async (command, options) => {
      if (options.stdin === undefined) return batch.run(command, options.timeoutSeconds ?? readTimeout);
      if (after) await after;
      return execCommand(connection, command, options, readTimeout);
    }),
    stat: (path) => batch.ask(statRead, path),
    sha256: (path) => batch.ask(sha256Read, path),
    compare: (path, sha256, largest) => compareFile(batch, { path, sha256, largest }),
    read: (path) => readFile(batch, path),
    package: (packageName) => batch.ask(packageRead, packageName),
    unit: (unit) => batch.ask(unitRead, unit),
    container: (container) => batch.ask(containerRead, container),
    sql: (target, query) => batch.ask(sqlRead, { target, query }),
  };
}

/** Runs a command in a separate request: one with standard input, or one that changes the host. */
export async function execCommand(
  connection: Connection,
  command: string,
  options: CommandOptions,
  timeoutSeconds: number,
): Promise<Output> {
  const { code, stdout, stderr, timedOut } = await connection.exec(command, {
    timeoutSeconds: options.timeoutSeconds ?? timeoutSeconds,
    stdin: options.stdin,
  });
  return new Output(code, stdout, stderr.toString('utf8'), timedOut);
}
