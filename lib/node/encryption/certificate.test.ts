import { expect, test, vi } from 'vitest';
import { fakeHost, rootsFile } from '../../engine/resource/testing/fake-host.ts';
import { contextOf } from '../testing/role-context.ts';
import type { Authority } from '../variables/variables.ts';
import { serverCertificate } from './certificate.ts';
import { namesOfServer } from './names.ts';
import { newServerCertificate } from './openssl.ts';
import { authorityFiles } from './testing/authority.ts';

test('a certificate is renewed in the last third of its time, and given to postgres alone', async () => {
  const ours = await authorityFiles();
  const context = await contextOf({ changes: ours.changes });
  const made = (await newServerCertificate(ours, namesOfServer(context.host))).reveal();
  const stat = { ...rootsFile, mode: 0o640, gid: 999 };
  const resource = serverCertificate(context, context.vars.tls as Authority);
  const seen = (found: typeof stat) =>
    resource.check(fakeHost([[/sed -n/, made]], { stat: async () => found }));
  expect(await seen(stat)).toEqual({ is: 'ok' });
  for (const other of [{ mode: 0o644 }, { gid: 70 }, { uid: 1000 }])
    expect(await seen({ ...stat, ...other } as never)).toMatchObject({
      note: 'its owner and mode are not root, group 999 and 0640',
    });
  const now = Date.now();
  const clock = vi.spyOn(Date, 'now');
  const day = 86_400_000;
  clock.mockReturnValue(now + 243 * day);
  expect(await seen(stat)).toEqual({ is: 'ok' });
  clock.mockReturnValue(now + 244 * day);
  expect(await seen(stat)).toMatchObject({ note: expect.stringMatching(/^it ends on \d{4}-\d\d-\d\d$/) });
  clock.mockRestore();
});
