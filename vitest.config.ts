import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    projects: [
      { test: { name: 'unit', include: ['{lib,roles}/**/*.test.ts'], testTimeout: 30_000 } },
      // A process of its own for each test: too slow for the inner loop.
      { test: { name: 'playbooks', include: ['playbooks/**/*.test.ts'], testTimeout: 30_000 } },
      {
        test: {
          name: 'lab',
          include: ['test/**/*.test.ts'],
          // One lab, one machine: its tests change hosts and must not meet.
          fileParallelism: false,
          testTimeout: 900_000,
          hookTimeout: 1_200_000,
        },
      },
    ],
  },
});
