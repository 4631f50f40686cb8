import { expect, test } from 'vitest';
import gatewayPreflight from '../../../roles/gateway-preflight.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { contextOf, refusal, sound } from '../testing/role-context.ts';

const ubuntu22 = { id: 'ubuntu', version: '22.04', codename: 'jammy', title: 'Ubuntu 22.04.5 LTS' };
const name = 'HAProxy 2.6 or later is available for the gateway';
const hint =
  'use a host with Debian 12 or 13 or Ubuntu 24.04 for the gateway, or install a package haproxy of 2.6 or later';

interface Found {
  readonly on?: typeof ubuntu22;
  readonly installed?: string;
  readonly candidate?: string;
}

/** Message and hint of the refusal, if there is one. */
async function refused({ on = sound.distribution, installed, candidate }: Found) {
  const context = await contextOf({
    group: 'gateway',
    changes: [[['groups', 'gateway'], { 'gw-1': { address: '10.0.0.1' } }]],
    facts: { distribution: on },
  });
  const policy = `haproxy:\n  Installed: (none)\n  Candidate: ${candidate}\n`;
  const host = fakeHost(candidate ? [[/^apt-cache .* policy haproxy$/, policy]] : [], {
    package: async () => ({ installed: installed !== undefined, version: installed }),
  });
  return refusal(await gatewayPreflight.resources(context), name, host);
}

test.each<[what: string, Found, words: string]>([
  [
    'the candidate of Ubuntu 22.04',
    { on: ubuntu22, candidate: '2.4.24-0ubuntu0.22.04.1' },
    'Ubuntu 22.04.5 LTS has HAProxy 2.4.24',
  ],
  [
    'Ubuntu 22.04 without package lists',
    { on: ubuntu22 },
    'Ubuntu 22.04.5 LTS has HAProxy 2.4 (no package list of the host has it yet)',
  ],
  [
    'an installed one, whatever could be installed: it would stay',
    { installed: '2.5.1-1', candidate: '2.6.12-1' },
    'Debian GNU/Linux 12 (bookworm) has HAProxy 2.5.1 installed',
  ],
])('refused before anything changes: %s', async (_, found, words) => {
  expect(await refused(found)).toEqual([`${name}: ${words}`, hint]);
});

test.each<[what: string, Found]>([
  ['Debian 12', { candidate: '2.6.12-1+deb12u4' }],
  ['a later one for Ubuntu 22.04', { on: ubuntu22, candidate: '2.8.5-1ppa1~jammy' }],
  ['an installed one with an epoch', { installed: '1:2.10.1-1' }],
  ['another distribution without package lists', {}],
])('new enough: %s', async (_, found) => {
  expect(await refused(found)).toEqual([undefined, undefined]);
});
