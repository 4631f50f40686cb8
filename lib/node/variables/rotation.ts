import type { Variables } from './variables.ts';

/** Whether the inventory has a password from before a rotation. */
export function hasFormer({ credentials }: Pick<Variables, 'credentials'>): boolean {
  return Object.values(credentials).some(({ password }) => password.former !== undefined);
}
