import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../engine/host/testing/local-connection.ts';
import { inventorySecrets } from './database-passwords.ts';

test.each(['mainnet', 'testnet', 'lab'])(
  '%s needs a password for each database, although its placeholders are not filled in',
  async (name) => {
    const { passwords, others } = await inventorySecrets(name);
    expect(passwords.map((password) => password.name)).toEqual([
      'state_db_password',
      'pool_db_password',
      'prover_db_password',
    ]);
    for (const { path, elsewhere, isUsed } of passwords) {
      expect(path).toMatch(/^credentials\.(state|pool|prover)\.password$/);
      // The shipped inventories have them in the encrypted file; the lab writes files of its own.
      const where = expect.objectContaining({ file: `inventory/${name}.yaml` });
      expect(elsewhere).toEqual(
        name === 'lab' ? [{ where, reference: expect.stringMatching(/^file:/) }] : [],
      );
      expect(isUsed).toBe(name !== 'lab');
    }
    expect(others).toEqual([]);
  },
);

const inventory = `
ssh: { user: deploy, become_password: 'secret:sudo' }
vars_files: [missing.yaml]
groups:
  database:
    db-1: { address: 10.0.0.1, port: 2222, jump: [a, b] }
  rpc:
    rpc-1: { address: 10.0.0.2, user: root, vars: { credentials: { pool: { password: 'secret:pool_1' } } } }
    rpc-2: { address: '<FILL: x>' }
    rpc-3: { address: localhost, connection: local, become_password: 'env:X' }
  gateway:
    gw-1: { address: 10.0.0.9 }
vars:
  credentials:
    state: { user: State.User, database: state_db, password: 'secret:state' }
    pool: { user: pool_user, database: pool_db, password: 'secret:pool' }
    prover: { user: prover_user, database: prover_db, password: 'env:PROVER' }
`;

test('an invalid name is not a reference to the secrets file', async () => {
  const file = join(temporaryDirectory(), 'own.yaml');
  for (const name of ['a/b', 'previous', '']) {
    writeFileSync(file, `vars: { credentials: { pool: { password: 'secret:${name}' } } }`);
    const { passwords } = await inventorySecrets(file);
    expect(passwords[1]).toMatchObject({
      name: 'pool_db_password',
      elsewhere: [{ reference: `secret:${name}` }],
    });
  }
});

test('passwords in the secrets file have a name and whether the inventory refers to them', async () => {
  const file = join(temporaryDirectory(), 'own.yaml');
  writeFileSync(file, inventory);
  const { passwords, others } = await inventorySecrets(file);
  expect(others).toEqual(['sudo']);
  expect(passwords.map(({ name, elsewhere, isUsed }) => [name, elsewhere.length, isUsed])).toEqual([
    ['state', 0, true],
    ['pool', 0, true],
    ['pool_1', 0, true],
    ['prover_db_password', 1, false],
  ]);
});

test('the password of the copies is one to generate, of the role that makes them', async () => {
  const file = join(temporaryDirectory(), 'inventory.yaml');
  writeFileSync(file, `${inventory}  backup: { password: 'secret:backup_password' }\n`);
  const { passwords } = await inventorySecrets(file);
  expect(passwords.at(-1)).toEqual({
    name: 'backup_password',
    path: 'backup.password',
    elsewhere: [],
    isUsed: true,
  });
});
