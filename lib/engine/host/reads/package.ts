import type { PackageState } from '../host.ts';
import { quote } from '../quote.ts';
import type { VectorRead } from './batch.ts';

/** One `dpkg-query` over all names. Without dpkg, nothing is installed. */
export const packageRead: VectorRead<string, PackageState> = {
  name: 'package',
  id(name) {
    // dpkg-query takes patterns, too. The rule is Debian policy 5.6.1, with an architecture after
    // it.
    if (!/^[a-z0-9][a-z0-9+.-]*(:[a-z0-9-]+)?$/.test(name))
      throw new TypeError(`not a name of a package: ${name}`);
    return name;
  },
  command: (names) =>
    `dpkg-query -W -f '\${Package} \${Architecture} \${db:Status-Abbrev} \${Version}\\n' -- ${quote(names)}`,
  answers(output, names) {
    const states = new Map<string, PackageState>();
    for (const line of output.lines()) {
      const [name = '', architecture = '', status = '', version = ''] = line.split(/ +/);
      // The second letter is the state: i is unpacked and configured.
      const installed = status[1] === 'i';
      for (const asked of names.filter((other) => other === name || other === `${name}:${architecture}`)) {
        if (installed || !states.has(asked))
          states.set(asked, { installed, version: installed ? version : undefined });
      }
    }
    return states;
  },
  absent: () => ({ installed: false, version: undefined }),
};
