import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../engine/host/testing/local-connection.ts';

const script = readFileSync(new URL('../../../templates/host/first-backup.sh', import.meta.url), 'utf8');

test('databases that the disk of the backup host cannot hold are not copied: that is asked first', () => {
  const folder = temporaryDirectory();
  const backupOf = (bytes: number) => {
    // In place of the connection to the server.
    writeFileSync(join(folder, 'runuser'), `#!/bin/sh\necho ${bytes}\n`, { mode: 0o755 });
    const program = `#!/bin/sh\n: >${folder}/started\n`;
    for (const name of ['pg_receivewal', 'base-backup'])
      writeFileSync(join(folder, name), program, { mode: 0o755 });
    const env = {
      PATH: `${folder}:${process.env.PATH}`,
      PROGRAMS: folder,
      CONNECTION: 'host=10.0.0.1',
      BASE_BACKUP: join(folder, 'base-backup'),
      FOLDER: folder,
    };
    return spawnSync('sh', ['-c', script], { encoding: 'utf8', env });
  };
  expect(backupOf(2 ** 60).stderr).toMatch(
    /^there is no room for a base backup in .*: the databases take \d+ MB, and \d+ MB are free$/m,
  );
  expect(existsSync(join(folder, 'started'))).toBe(false);
  expect(backupOf(1000).status).toBe(0);
  expect(existsSync(join(folder, 'started'))).toBe(true);
});
