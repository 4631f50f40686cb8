import * as z from 'zod';
import { parseJson } from '../../text/parse-json.ts';
import type { ContainerState } from '../host.ts';
import { quote } from '../quote.ts';
import type { VectorRead } from './batch.ts';

/**
 * One `docker inspect` over all containers. Without Docker, or with its engine stopped, no
 * container is found.
 */
export const containerRead: VectorRead<string, ContainerState | undefined> = {
  name: 'container',
  id(name) {
    if (!/^[a-zA-Z0-9][\w.-]*$/.test(name)) throw new TypeError(`not a name of a container: ${name}`);
    return name;
  },
  command: (names) => `docker container inspect -f '{{json .}}' ${quote(names)}`,
  answers(output, names) {
    const states = new Map<string, ContainerState>();
    for (const line of output.lines()) {
      const raw = parseJson(line);
      const { data } = document.safeParse(raw);
      if (!data) continue;
      const name = data.Name.replace(/^\//, '');
      for (const asked of names.filter((other) => other === name || data.Id.startsWith(other))) {
        states.set(asked, stateOf(data, raw));
      }
    }
    return states;
  },
  absent: () => undefined,
};

const text = z.string().catch('');
const number = z.number().catch(0);

/** The parts of the engine's document that are used. A value of another type counts as missing. */
const document = z.looseObject({
  Id: text,
  Name: text,
  Image: text,
  RestartCount: number,
  State: z
    .object({
      Running: z.boolean().catch(false),
      Status: text,
      ExitCode: number,
      StartedAt: text,
      Health: z.object({ Status: z.string() }).optional().catch(undefined),
    })
    .optional()
    .catch(undefined),
  Config: z
    .object({ Image: text, Labels: z.record(z.string(), z.string()).catch({}) })
    .optional()
    .catch(undefined),
  HostConfig: z.object({ CpuShares: number }).optional().catch(undefined),
});

function stateOf(
  { Id, Image, RestartCount, State, Config, HostConfig }: z.output<typeof document>,
  raw: unknown,
) {
  return {
    id: Id,
    image: Config?.Image ?? '',
    imageId: Image,
    running: State?.Running ?? false,
    status: State?.Status ?? '',
    health: State?.Health?.Status,
    exitCode: State?.ExitCode ?? 0,
    restartCount: RestartCount,
    startedAt: State?.StartedAt ?? '',
    labels: Config?.Labels ?? {},
    cpuShares: HostConfig?.CpuShares ?? 0,
    raw,
  };
}
