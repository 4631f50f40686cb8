import type { TestContext } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    /** The measurement of a fault's test, for the table of its suite (docs/faults.md). */
    measured?: string;
  }
}

/**
 * Records the measurement of a test.
 *
 * @param task of the test's context
 */
export function measured(task: TestContext['task'], what: string): void {
  task.meta.measured = what;
}
