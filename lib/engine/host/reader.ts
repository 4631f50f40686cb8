import { bytesOf } from '../secret/secret.ts';
import type { Connection } from './connection.ts';
import type { Reader } from './host.ts';
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
 * A Reader over a connection. All reads of one tick are one exec, also those of other Readers and
 * Writers of the connection.
 */
export function createReader(connection: Connection, name: string, batch = batchOf(connection)): Reader {
  return {
    name,
    $: shell((text, { stdin, timeoutSeconds = readTimeout }) =>
      batch.run({ text, timeoutSeconds, stdin: stdin === undefined ? undefined : bytesOf(stdin) }),
    ),
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
