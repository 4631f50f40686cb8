import type { Kind } from '../batch.ts';
import type { ContainerState } from '../host.ts';
import { quote } from '../quote.ts';

/** One `docker inspect` over all containers. Without Docker, or with its engine down, there are none. */
export const containerKind: Kind<string, ContainerState | undefined> = {
  name: 'container',
  id(name) {
    if (!/^[a-zA-Z0-9][\w.-]*$/.test(name)) throw new TypeError(`no name of a container: ${name}`);
    return name;
  },
  command: (names) => `docker container inspect -f '{{json .}}' ${quote(names)}`,
  answers(output, names) {
    const states = new Map<string, ContainerState>();
    for (const line of output.lines()) {
      const document = parse(line);
      if (!document) continue;
      const name = document.Name?.replace(/^\//, '');
      const id = document.Id ?? '';
      for (const asked of names.filter((other) => other === name || id.startsWith(other))) {
        states.set(asked, stateOf(document));
      }
    }
    return states;
  },
  absent: () => undefined,
};

/** What is used of the engine's document. */
interface Document {
  readonly Id?: string;
  readonly Name?: string;
  readonly RestartCount?: number;
  readonly State?: {
    readonly Running?: boolean;
    readonly Status?: string;
    readonly ExitCode?: number;
    readonly StartedAt?: string;
    readonly Health?: { readonly Status?: string };
  };
  readonly Config?: { readonly Image?: string; readonly Labels?: Record<string, string> | null };
  readonly HostConfig?: { readonly CpuShares?: number };
}

function stateOf(document: Document): ContainerState {
  const { State, Config, HostConfig } = document;
  return {
    id: document.Id ?? '',
    image: Config?.Image ?? '',
    running: State?.Running ?? false,
    status: State?.Status ?? '',
    health: State?.Health?.Status,
    exitCode: State?.ExitCode ?? 0,
    restartCount: document.RestartCount ?? 0,
    startedAt: State?.StartedAt ?? '',
    labels: Config?.Labels ?? {},
    cpuShares: HostConfig?.CpuShares ?? 0,
    raw: document,
  };
}

function parse(line: string): Document | undefined {
  try {
    return JSON.parse(line) as Document;
  } catch {
    return undefined;
  }
}
