import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { remoteCommand } from '../../lib/engine/host/transport/remote-command.ts';
import { sentScript } from '../sent-script.mjs';

const root = { prefix: 'env ', password: undefined };
const aheadLine = `sh -c 'IFS= read -r c&&exec sh -c "$c"'`;

test('tests find the script of a request, and can put another one in its place', () => {
  const long = `#${'x'.repeat(50_000)}\n`;
  for (const script of ['echo one; cat', `${long}echo one; cat`]) {
    for (const stdin of [undefined, 'in']) {
      const { command, input } = remoteCommand(
        script,
        root,
        stdin === undefined ? undefined : Buffer.from(stdin),
      );
      const given = input.toString('latin1');
      for (const [line, all] of [
        [command, given],
        [aheadLine, `${command}\n${given}`],
      ] as const) {
        const sent = sentScript(line, all);
        expect(sent?.script).toContain(script);
        const changed = sent?.withScript(sent.script.replace('echo one', 'echo two')) ?? '';
        const { stdout } = spawnSync('sh', ['-c', line], {
          input: Buffer.from(changed, 'latin1'),
          encoding: 'utf8',
        });
        expect(stdout).toBe(`two\n${stdin ?? ''}`);
      }
    }
  }
  expect(sentScript('uname -a', '')).toBeUndefined();
});
