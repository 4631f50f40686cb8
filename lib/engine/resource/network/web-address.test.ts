import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { curlAddress, withoutQuery } from './web-address.ts';

test.each([
  ['https://x.example/a/b', 'https://x.example/a/b'],
  ['https://x.example/a?X-Amz-Signature=5ec2e7&b=c?d', 'https://x.example/a'],
  ['https://x.example?5ec2e7', 'https://x.example'],
])('of %s is shown %s', (url, shown) => {
  expect(withoutQuery(url)).toBe(shown);
});

test.each(['/a?b=c&d', '/[1-3]{a,b}', '/"quoted"', '/back\\slash\\n\\', '/#a', `/it's$(touch%20x)\`id\``, '/ x = "y"'])(
  'curl takes %s as one address, as it stands',
  (path) => {
    const words = ['--silent', '--globoff', '--write-out', '%{url_effective}', '--config', '-'];
    // Nobody listens there: what counts is what it asks for.
    const options = { input: curlAddress(`http://127.0.0.1:1${path}`), encoding: 'utf8' } as const;
    let asked = '';
    try {
      execFileSync('curl', words, { ...options, stdio: ['pipe', 'pipe', 'ignore'] });
    } catch (error) {
      asked = String((error as { stdout: unknown }).stdout);
    }
    expect(asked).toBe(`http://127.0.0.1:1${path}`);
  },
);
