import type { TestContext } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    /** What a fault's test measured, for the table in docs/reliability.md. */
    measured?: string;
  }
}

/** Notes what a test measured. @param task of the test's context */
export function measured(task: TestContext['task'], what: string): void {
  task.meta.measured = what;
}
