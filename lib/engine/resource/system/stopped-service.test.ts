import { expect, test } from 'vitest';
import { fakeHost, stoppedUnit } from '../testing/fake-host.ts';
import { stoppedService } from './stopped-service.ts';

const check = (state: object) =>
  stoppedService('exim4').check(fakeHost([], { unit: async () => ({ ...stoppedUnit, ...state }) }));

test('a unit that runs or starts at boot is stopped and disabled', async () => {
  expect(await check({ active: 'active', enabled: 'enabled' })).toMatchObject({
    differences: [
      { what: 'at boot', was: 'enabled', wanted: 'disabled' },
      { what: 'state', was: 'active', wanted: 'inactive' },
    ],
    change: [{ command: 'systemctl --quiet disable --now exim4.service' }],
  });
});

test('a unit that is not installed, is static, masked or has failed is right', async () => {
  for (const state of [
    { load: 'not-found' },
    { enabled: 'static' },
    { enabled: 'masked' },
    { active: 'failed' },
  ]) {
    expect(await check(state)).toEqual({ is: 'ok' });
  }
});
