import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { standInFor, temporaryDirectory } from '../../engine/host/testing/local-connection.ts';

const script = new URL('../../../templates/host/retire.sh', import.meta.url).pathname;

test("a former server's data directory becomes a replica's, and a link in it is not followed with the rights of root", () => {
  const [top, postgres] = [temporaryDirectory(), 64_247];
  const [data, secret] = [join(top, 'state-db'), join(top, 'secret')];
  chmodSync(top, 0o755);
  writeFileSync(secret, 'of root', { mode: 0o600 });
  mkdirSync(join(data, 'global'), { recursive: true });
  // Offset 16 of pg_control: shut down cleanly.
  const control = Buffer.alloc(32);
  control.writeUInt32LE(1, 16);
  writeFileSync(join(data, 'global/pg_control'), control);
  const settings = join(data, 'postgresql.auto.conf');
  const recovered =
    "restore_command = 'false'\nrecovery_target_timeline = '2'\nrecovery_target_action = 'promote'\n";
  writeFileSync(settings, `max_connections = '500'\n${recovered}`);
  for (const path of [data, settings]) chownSync(path, postgres, postgres);
  standInFor('docker', 'exit 0');
  const run = () => spawnSync('sh', [script, data], { encoding: 'utf8' });
  symlinkSync(secret, join(data, 'standby.signal'));
  expect(run()).toMatchObject({
    status: 1,
    stderr: expect.stringContaining(`${data}/standby.signal cannot be made`),
  });
  expect([readFileSync(secret, 'utf8'), statSync(secret).uid]).toEqual(['of root', 0]);
  unlinkSync(join(data, 'standby.signal'));
  expect(run()).toMatchObject({ status: 0, stderr: '' });
  expect(statSync(join(data, 'standby.signal'))).toMatchObject({
    uid: postgres,
    gid: postgres,
    mode: 0o100600,
    size: 0,
  });
  expect(readFileSync(settings, 'utf8')).toBe("max_connections = '500'\n");
  expect(statSync(settings).uid).toBe(postgres);
});
