import { expect, test } from 'vitest';
import { disagreements } from './compare.ts';
import { older } from './older.ts';
import { filled } from './placeholders.ts';
import { type FoundValues, readCompose, readJson, readToml } from './read.ts';
import type { Row } from './row.ts';

const table: readonly Row[] = [
  ['', 'IsTrusted', 'boolean', false],
  ['Log', 'Outputs', 'string list', ['stderr']],
  ['RPC', 'Port', 'integer', 8123],
  ['RPC', 'Timeout', 'duration', '360s'],
  ['RPC.Limits', 'Factor', 'number', 1],
  ['RPC.Limits', 'Host', 'string', '0.0.0.0'],
];

const files: Record<'toml' | 'json' | 'yaml', readonly [text: string, read: (text: string) => FoundValues]> =
  {
    toml: [
      `IsTrusted = false
[Log]
Outputs = ["stderr"]
[RPC]
Port = 8123 # HTTP
Timeout = "360s"
[RPC.Limits]
Factor = 1
Host = "0.0.0.0"
`,
      readToml,
    ],
    json: [
      `{
  "IsTrusted": false,
  "Log": { "Outputs": ["stderr"] },
  "RPC": { "Port": 8123, "Timeout": "360s", "Limits": { "Factor": 1, "Host": "0.0.0.0" } }
}`,
      readJson,
    ],
    yaml: [
      `IsTrusted: false
Log: { Outputs: ["stderr"] }
RPC:
  Port: 8123
  Timeout: "360s"
  Limits: { Factor: 1, Host: 0.0.0.0 }
`,
      readCompose,
    ],
  };

const differences = (format: keyof typeof files, was: string, is: string): readonly string[] => {
  const [text, read] = files[format];
  expect(text).toContain(was);
  return disagreements(table, read(text.replace(was, is)));
};

test.each(['toml', 'json', 'yaml'] as const)(
  'a file of %s that matches its table has no difference',
  (format) => {
    expect(differences(format, '', '')).toEqual([]);
  },
);

test.each<[string, keyof typeof files, was: string, is: string, readonly string[]]>([
  ['a key is dropped', 'toml', 'Host = "0.0.0.0"', '', ['RPC.Limits.Host: missing']],
  ['a key is dropped', 'json', '"IsTrusted": false,', '', ['IsTrusted: missing']],
  ['a section is dropped', 'yaml', 'Log: { Outputs: ["stderr"] }', '', ['Log.Outputs: missing']],
  ['a key is added', 'toml', '[Log]', '[Log]\nLevel = "info"', ['Log.Level: extra']],
  ['a key is added', 'json', '"IsTrusted"', '"more": null, "IsTrusted"', ['more: extra']],
  ['an empty section is added', 'toml', '[Log]', '[Pool.DB]\n[Log]', ['Pool.DB: extra']],
  ['a key is misspelt', 'yaml', 'Timeout', 'TimeOut', ['RPC.Timeout: missing', 'RPC.TimeOut: extra']],
  [
    'a key moves',
    'toml',
    '[RPC]\nPort',
    '[Rpc]\nPort',
    expect.arrayContaining(['RPC.Port: missing', 'Rpc.Port: extra']),
  ],
  ['a value differs', 'toml', '8123', '8124', ['RPC.Port: has value 8124, wanted 8123']],
  ['a value differs', 'json', 'false', 'true', ['IsTrusted: has value true, wanted false']],
  [
    'a list differs',
    'yaml',
    '"stderr"',
    '"stderr", "a"',
    ['Log.Outputs: has value ["stderr","a"], wanted ["stderr"]'],
  ],
  ['an integer is text', 'toml', '8123', '"8123"', ['RPC.Port: has type string ("8123"), wanted integer']],
  [
    'an integer has a fraction',
    'toml',
    '8123',
    '8123.0',
    ['RPC.Port: has type number (8123), wanted integer'],
  ],
  [
    'an integer has a fraction',
    'json',
    '8123',
    '8123.0',
    ['RPC.Port: has type number (8123), wanted integer'],
  ],
  [
    'an integer has a fraction',
    'yaml',
    '8123',
    '8123.0',
    ['RPC.Port: has type number (8123), wanted integer'],
  ],
  [
    'an integer has an exponent',
    'json',
    '8123',
    '8123e0',
    ['RPC.Port: has type number (8123), wanted integer'],
  ],
  ['a number has a fraction', 'toml', 'Factor = 1', 'Factor = 1.0', []],
  ['text is a number', 'yaml', '0.0.0.0', '0.5', ['RPC.Limits.Host: has type number (0.5), wanted string']],
  ['a boolean is text', 'json', 'false', '"false"', ['IsTrusted: has type string ("false"), wanted boolean']],
  [
    'a duration has no unit',
    'toml',
    '360s',
    '360',
    ['RPC.Timeout: has type string ("360"), wanted duration'],
  ],
  [
    'a duration has no quotes',
    'toml',
    '"360s"',
    '360',
    ['RPC.Timeout: has type integer (360), wanted duration'],
  ],
  ['a duration has days', 'toml', '360s', '1d', ['RPC.Timeout: has type string ("1d"), wanted duration']],
  ['a duration is another', 'json', '360s', '6m', ['RPC.Timeout: has value "6m", wanted "360s"']],
  [
    'a list is one word',
    'json',
    '["stderr"]',
    '"stderr"',
    ['Log.Outputs: has type string ("stderr"), wanted string list'],
  ],
  [
    'a list holds a number',
    'toml',
    '"stderr"',
    '2',
    ['Log.Outputs: has type list ([2]), wanted string list'],
  ],
])('%s (%s, %s becomes %s)', (_, format, was, is, expected) => {
  expect(differences(format, was, is)).toEqual(expected);
});

test.each(['toml', 'json', 'yaml'] as const)('a duplicate key in %s is an error', (format) => {
  const twice = { toml: 'a = 1\na = 1\n', json: '{ "a": 1, "a": 1 }', yaml: 'a: 1\na: 1\n' };
  expect(() => files[format][1](twice[format])).toThrow();
});

test('mistakes in the tables themselves are errors', () => {
  const none = { absent: [], renamed: {}, changed: [], added: [] };
  expect(() => disagreements([...table, ['RPC', 'Port', 'integer', 1]], new Map())).toThrow('twice');
  expect(() => older(table, { ...none, absent: ['RPC.Limit'] })).toThrow(
    'RPC.Limit is not in the current file',
  );
  expect(() => older(table, { ...none, renamed: { Rpc: 'RPC' } })).toThrow('Rpc is not');
  expect(() => older(table, { ...none, changed: [['RPC', 'Ports', 'integer', 1]] })).toThrow(
    'RPC.Ports is not',
  );
  expect(() => older(table, { ...none, added: [['RPC', 'Port', 'integer', 1]] })).toThrow('RPC.Port is in');
  expect(() => filled([['RPC', 'Host', 'string', '{host}']], {})).toThrow('{host} has no value');
});

test('the older table is the current one with its differences', () => {
  const differences = {
    absent: ['Log', 'IsTrusted'],
    renamed: { 'RPC.Limits': 'Limits' },
    changed: [['RPC', 'Port', 'integer', 1]],
    added: [['Log', 'Level', 'string', 'info']],
  } as const;
  expect(older(table, differences)).toEqual([
    ['RPC', 'Port', 'integer', 1],
    ['RPC', 'Timeout', 'duration', '360s'],
    ['Limits', 'Factor', 'number', 1],
    ['Limits', 'Host', 'string', '0.0.0.0'],
    ['Log', 'Level', 'string', 'info'],
  ]);
});
