import { expect, test } from 'vitest';
import { cpuSeconds } from '../../engine/testing/cpu-seconds.ts';
import { generations } from '../variables/generation.ts';
import { genesisFaults } from './genesis.ts';

const address = (digit: string): string => `0x${digit.repeat(40)}`;
const sound = () => ({
  root: `0x${'5'.repeat(64)}`,
  rollupCreationBlockNumber: 4789195,
  rollupManagerCreationBlockNumber: 4789190,
  l1Config: {
    chainId: 55555,
    polygonZkEVMAddress: address('1'),
    polygonRollupManagerAddress: address('2'),
    polTokenAddress: address('3'),
    polygonZkEVMGlobalExitRootAddress: address('4'),
  },
  genesis: [
    {
      contractName: 'Bridge',
      balance: '340282366920938463463374607431768211455',
      nonce: '1',
      address: address('a'),
      bytecode: '0x6080',
      storage: { '0x0': '0x01' },
    },
    { accountName: 'deployer', balance: '0', nonce: '8', address: address('b') },
  ],
});
const older = () => {
  const { root, genesis } = sound();
  return {
    root,
    genesisBlockNumber: 5,
    genesis,
    l1Config: {
      chainId: 55555,
      cdkValidiumAddress: address('1'),
      maticTokenAddress: address('2'),
      cdkDataCommitteeContract: address('3'),
    },
  };
};

const faults = (genesis: unknown, generation: 'current' | 'older' = 'current'): string[] =>
  genesisFaults(typeof genesis === 'string' ? genesis : JSON.stringify(genesis), {
    ...generations[generation],
    chainId: 55555,
  });

test('a sound file of each generation has no fault', () => {
  expect(faults(sound())).toEqual([]);
  expect(faults(older(), 'older')).toEqual([]);
});

test("another generation's file is refused, and its keys are named", () => {
  expect(faults(older())).toEqual([
    'rollupCreationBlockNumber is missing',
    'rollupManagerCreationBlockNumber is missing',
    'l1Config.polygonZkEVMAddress is missing',
    'l1Config.polygonRollupManagerAddress is missing',
    'l1Config.polTokenAddress is missing',
    'l1Config.polygonZkEVMGlobalExitRootAddress is missing',
    'genesisBlockNumber is a key of the older generation',
    'l1Config.cdkValidiumAddress is a key of the older generation',
    'l1Config.maticTokenAddress is a key of the older generation',
    'l1Config.cdkDataCommitteeContract is a key of the older generation',
  ]);
  expect(faults(sound(), 'older')).toEqual(
    expect.arrayContaining([
      'genesisBlockNumber is missing',
      'rollupCreationBlockNumber is a key of the current generation',
    ]),
  );
  // Beside all keys of its own generation another's do no harm.
  expect(faults({ ...sound(), genesisBlockNumber: 5 })).toEqual([]);
});

type Genesis = ReturnType<typeof sound>;
test.each<[string[], (genesis: Genesis) => void]>([
  [['root is missing'], (g) => Reflect.deleteProperty(g, 'root')],
  [['root must be 32 bytes in hex, 0x…'], (g) => Object.assign(g, { root: '0x12' })],
  [['root must be text'], (g) => Object.assign(g, { root: 7 })],
  [
    ['rollupCreationBlockNumber must be a whole number'],
    (g) => Object.assign(g, { rollupCreationBlockNumber: '4789195' }),
  ],
  [
    ['rollupManagerCreationBlockNumber must not be negative'],
    (g) => Object.assign(g, { rollupManagerCreationBlockNumber: -1 }),
  ],
  [
    ['rollupManagerCreationBlockNumber must be a whole number'],
    (g) => Object.assign(g, { rollupManagerCreationBlockNumber: 1.5 }),
  ],
  [['l1Config is missing'], (g) => Reflect.deleteProperty(g, 'l1Config')],
  [
    ['l1Config.chainId must be 55555, as the inventory says'],
    (g) => Object.assign(g.l1Config, { chainId: 202401 }),
  ],
  [
    ['l1Config.chainId must be 55555, as the inventory says'],
    (g) => Object.assign(g.l1Config, { chainId: '55555' }),
  ],
  [
    ['l1Config.polTokenAddress must be 20 bytes in hex, 0x…'],
    (g) => Object.assign(g.l1Config, { polTokenAddress: '0xabc' }),
  ],
  [
    ['l1Config.polygonZkEVMGlobalExitRootAddress is missing'],
    (g) => Reflect.deleteProperty(g.l1Config, 'polygonZkEVMGlobalExitRootAddress'),
  ],
  [['genesis is missing'], (g) => Reflect.deleteProperty(g, 'genesis')],
  [['genesis is empty'], (g) => Object.assign(g, { genesis: [] })],
  [['genesis must be a list'], (g) => Object.assign(g, { genesis: {} })],
  [['genesis[1].balance must be text'], (g) => Object.assign(g.genesis[1] ?? {}, { balance: 0 })],
  [
    ['genesis[1].nonce must be a whole number as text'],
    (g) => Object.assign(g.genesis[1] ?? {}, { nonce: 'x' }),
  ],
  [['genesis[0].address is missing'], (g) => Reflect.deleteProperty(g.genesis[0] ?? {}, 'address')],
  [
    ['genesis[0].bytecode must be bytes in hex, 0x…'],
    (g) => Object.assign(g.genesis[0] ?? {}, { bytecode: '6080' }),
  ],
  [
    ['genesis[0].bytecode is missing, though contractName says that it is a contract'],
    (g) => Reflect.deleteProperty(g.genesis[0] ?? {}, 'bytecode'),
  ],
  [
    ['genesis[1].contractName is missing, and so is accountName'],
    (g) => Reflect.deleteProperty(g.genesis[1] ?? {}, 'accountName'),
  ],
  [['l1Config must be an object'], (g) => Object.assign(g, { l1Config: 7 })],
  [['genesis[0].storage must be an object'], (g) => Object.assign(g.genesis[0] ?? {}, { storage: 'x' })],
  [
    ['genesis[0].storage.slot: this key must be a number of up to 32 bytes in hex, 0x…'],
    (g) => Object.assign(g.genesis[0] ?? {}, { storage: { slot: '0x1' } }),
  ],
  [
    ['genesis[0].storage.0x0 must be text'],
    (g) => Object.assign(g.genesis[0] ?? {}, { storage: { '0x0': 1 } }),
  ],
  [
    ['genesis[1].address is that of genesis[0]'],
    (g) => Object.assign(g.genesis[1] ?? {}, { address: address('A') }),
  ],
])('%s', (expected, spoil) => {
  const genesis = sound();
  spoil(genesis);
  expect(faults(genesis)).toEqual(expected);
});

test('what is no such file at all is refused', () => {
  expect(faults('<html>')).toEqual(['it is not valid JSON']);
  expect(faults('[]')).toEqual(['it is not a JSON object']);
  expect(faults('null')).toEqual(['it is not a JSON object']);
  expect(faults({})).toEqual([
    'root is missing',
    'rollupCreationBlockNumber is missing',
    'rollupManagerCreationBlockNumber is missing',
    'l1Config is missing',
    'genesis is missing',
  ]);
});

test('tens of thousands of accounts are judged quickly', async () => {
  const [account] = sound().genesis;
  const accounts = Array.from({ length: 40_000 }, (_, i) => ({
    ...account,
    address: `0x${i.toString(16).padStart(40, '0')}`,
  }));
  const text = JSON.stringify({ ...sound(), genesis: accounts });
  const judges = () => expect(genesisFaults(text, { ...generations.current, chainId: 55555 })).toEqual([]);
  expect(await cpuSeconds(judges)).toBeLessThan(6);
});
