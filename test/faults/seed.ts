import { test } from 'vitest';

/**
 * The seed of random faults: the same seed gives the same faults. From FAULTS_SEED, or a fixed
 * one.
 */
export const seed = Number(process.env.FAULTS_SEED ?? 20240501);

/**
 * Whether each fault is injected in every form (npm run faults, npm run test:long), or once of each
 * kind (npm test).
 */
export const inEveryForm = process.env.FAULTS === 'all';

/** All forms of a fault (npm run test:long), or the first ones of them (npm test). */
export const formsOf = <T>(all: readonly T[], first = 1): readonly T[] =>
  inEveryForm ? all : all.slice(0, first);

/** A test of a further form: npm run test:long has it, and npm test has others of its kind. */
export const inAllForms = test.skipIf(!inEveryForm);
