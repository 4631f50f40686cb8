// The programs of the distribution that tests start. A test that starts one says that it is skipped
// where the program is not installed.
import { canInstall, installPackages, isInstalled } from '../lab/engine.mjs';
import { getMonitoringPrograms } from './monitoring-programs.mjs';

/** Programs, each with its package. */
const programs = {
  // Our encryption is compared with that of another program.
  age: 'age',
  // Checks every shell script.
  shellcheck: 'shellcheck',
  // The gateway's own program, with small RPC hosts of the test around it.
  haproxy: 'haproxy',
  // Tests of the firewall send packets between network namespaces.
  ip: 'iproute2',
};

/** Installs what is missing. Without root and apt nothing is installed. */
export async function installPrograms() {
  if (!canInstall()) return;
  for (const [program, name] of Object.entries(programs))
    if (!(await isInstalled(program))) await installPackages(name);
  // Tests the rules for alerts, by promtool and by real faults of a gateway.
  await getMonitoringPrograms();
}
