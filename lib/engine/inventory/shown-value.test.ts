import { expect, test } from 'vitest';
import { shownValue } from './shown-value.ts';

test.each([
  ['https://l1.example.org/{{ env:L1_KEY }}/v3?apikey=PLAINKEY77', 'https://l1.example.org/…'],
  ['https://l1.example.org?apikey={{ env:L1_KEY }}&other=PLAINKEY77', 'https://l1.example.org/…'],
  [`https://l1.example.org/{{ cmd:pass "l1" 'key' }}/PLAINKEY77`, 'https://l1.example.org/…'],
  ['https://{{ env:L1_USER }}:PLAINKEY77@l1.example.org/', 'https://l1.example.org/'],
  ['https://PLAINKEY77:{{ env:L1_KEY }}@l1.example.org:8545/v3', 'https://l1.example.org:8545/…'],
  ['https://user:PLAIN@KEY77@l1.example.org/v3', 'https://l1.example.org/…'],
  ['https://{{ env:L1_HOST }}:8545/PLAINKEY77', 'https://{{ env:L1_HOST }}:8545/…'],
  ['https://a.example/PLAINKEY77 and https://b.example/', 'https://a.example/… and https://b.example/'],
])('of the address %s only scheme, host and port are shown', (value, shown) => {
  expect(shownValue(['network', 'l1_rpc_url'], value)).toBe(shown);
  expect(shownValue(['network', 'urls'], [value])).toBe(JSON.stringify([shown]));
});

test('an address with many braces takes no longer than its length', () => {
  const before = performance.now();
  shownValue(['url'], `https://${'{{}}'.repeat(5000)}`);
  expect(performance.now() - before).toBeLessThan(1000);
});
