// Which tests cause faults: those in test/faults, those of whole deployments that take long, and that
// of certificates by the DNS.
import { $ } from 'zx';
import { projectRoot } from '../../lab/layout.mjs';
import { longDeployments } from '../long-deployments.mjs';
import { faultTests } from './results-page.mjs';

/** Options of vitest: the projects that hold such tests. */
export const projects = ['faults', 'parts', 'gateways', 'lab'].flatMap((name) => ['--project', name]);

/** Files, as vitest takes them. */
export const places = ['test/faults', ...longDeployments, 'test/gateway/acme-dns.test.ts'];

/** All tests that cause faults, in every form. @returns {Promise<{ suite: string, title: string }[]>} */
export async function listFaultTests() {
  const env = { ...process.env, FAULTS: 'all' };
  const listed = await $({
    cwd: projectRoot,
    env,
    quiet: true,
  })`node node_modules/vitest/vitest.mjs list --no-isolate ${projects} ${places} --json`;
  return faultTests(JSON.parse(listed.stdout));
}
