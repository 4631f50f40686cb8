import type { ContainerState, Writer } from '../host/host.ts';
import { untilDockerRuns } from './docker-engine.ts';
import { type Difference, drift, ok, type Resource } from './resource.ts';

/** The label that every service of a rendered compose file carries: a hash of its definition and of each file mounted into it. */
export const configHashLabel = 'rpc-playbooks.config-hash';

/** How long a container may take to stop before it is killed: a database writes its last pages in it. Seconds. */
const stopLimit = 120;

export interface ComposeService {
  /** Where docker-compose.yml is. */
  readonly directory: string;
  /** Its name in the compose file. */
  readonly service: string;
  /** The name of its container. */
  readonly container: string;
  /** What the label has to say. */
  readonly configHash: string;
}

/** A container that does not stay up; `log` is its last words. */
export class ContainerEnded extends Error {
  constructor(container: string, state: Pick<ContainerState, 'status' | 'exitCode'> | undefined, log: string) {
    const how = state ? `is ${state.status}, exit code ${state.exitCode}${meaningOf(state.exitCode)}` : 'is gone';
    super(`container ${container} ${how}${log ? `\n${log}` : ''}`);
    this.name = 'ContainerEnded';
  }
}

/** 132 is SIGILL: a program that is built for newer processors ends so without a word. */
function meaningOf(exitCode: number): string {
  if (exitCode === 132)
    return ' (illegal instruction: the processor lacks what the program was built for, as avx2, bmi2 or adx)';
  if (exitCode === 137) return ' (killed, most often for want of memory)';
  return '';
}

/**
 * A service of a compose file that has to run with its current configuration. Compose recreates the container when the label in
 * the file has changed; what matches is never restarted.
 */
export function composeService({ directory, service, container, configHash }: ComposeService): Resource {
  return {
    name: `${container} is running with its configuration`,

    async check(host) {
      const [until, state] = await Promise.all([untilDockerRuns(host), host.container(container)]);
      if (until) return until;
      const differences = containerDifferences(state, configHash);
      return differences.length === 0 ? ok : drift(differences);
    },

    async apply(host) {
      const file = `${directory}/docker-compose.yml`;
      // Version 2 is a plugin of docker, version 1 a program of its own; both take the same words.
      await host.run`
        if docker compose version >/dev/null 2>&1; then compose='docker compose'; else compose=docker-compose; fi
        $compose --file ${file} --project-directory ${directory} up --detach --no-deps --timeout ${stopLimit} ${service} </dev/null`;
      await host.sleep(1);
      await ensureContainerRuns(host, container);
    },
  };
}

/** @throws ContainerEnded with the container's last words when it does not run */
export async function ensureContainerRuns(host: Writer, container: string): Promise<void> {
  const [state, log] = await Promise.all([host.container(container), host.$`docker logs --tail 15 ${container} 2>&1`]);
  if (state?.status !== 'running') throw new ContainerEnded(container, state, log.ok ? log.text() : '');
}

/** What is not as it should be with a container; nothing when all is well. */
export function containerDifferences(state: ContainerState | undefined, configHash: string): readonly Difference[] {
  if (!state) return [{ what: 'container', was: 'absent', wanted: 'running' }];
  const differences: Difference[] = [];
  if (state.status !== 'running') {
    const was = state.status === 'exited' ? `exited with ${state.exitCode}` : state.status;
    differences.push({ what: 'container', was, wanted: 'running' });
  }
  const hash = state.labels[configHashLabel] ?? '';
  if (hash !== configHash) {
    differences.push({
      what: 'configuration',
      was: hash.slice(0, 12) || 'unlabelled',
      wanted: configHash.slice(0, 12),
    });
  }
  return differences;
}
