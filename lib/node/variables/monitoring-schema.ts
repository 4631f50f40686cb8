import * as z from 'zod';
import * as types from './value-types.ts';

const receiver = z.strictObject({
  name: z
    .string()
    .regex(
      /^(?!nobody$)[A-Za-z0-9][A-Za-z0-9_.-]*$/,
      'must be a name of letters, digits and . _ -, and not nobody',
    )
    .describe('Its name in Alertmanager'),
  severity: z
    .enum(['warning', 'critical', 'heartbeat'])
    .default('warning')
    .describe(
      'The lowest severity that it gets. heartbeat: no alert but one that always fires, once a minute, for a service that raises an alarm when it stays away',
    ),
  configs: z
    .record(
      z
        .string()
        .regex(/^[a-z]+_configs$/, "must be one of Alertmanager's, such as webhook_configs or email_configs"),
      z.array(z.record(z.string(), z.unknown())).min(1),
    )
    .refine((configs) => Object.keys(configs).length > 0, 'must have at least one, such as webhook_configs')
    .describe(
      "Alertmanager's own settings of a receiver: webhook_configs, email_configs and so on. A text secret:NAME, file:PATH, env:NAME or cmd:COMMAND is replaced by that secret, and within a text {{ secret:NAME }} and so on; other braces are Alertmanager's",
    ),
});

/** Alertmanager's settings for one receiver of alerts. */
export type Receiver = z.output<typeof receiver>;

/** The variables of `monitoring`, without the section's own description. */
export const monitoringShape = {
  scrape_from: types.ipNetworks
    .default([])
    .describe(
      'Prometheus servers that are not in the inventory. With one, or with a host in group monitor, every host gets exporters, which only these and the monitor can reach',
    ),
  clients: types.ipNetworks
    .default([])
    .describe(
      'Who may open Prometheus (9090) and Alertmanager (9093) on the monitor, such as a Grafana server',
    ),
  retention_days: types.whole(1, 3650).default(90).describe('How long Prometheus keeps its data, in days'),
  retention_gb: types.whole(1, 100_000).default(50).describe('Most space of its data, in GB'),
  receivers: z
    .array(receiver)
    .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, 'must have each name once')
    .default([])
    .describe('Who gets alerts; none: they are only shown by Alertmanager'),
  objective: z
    .number()
    .min(95)
    .max(99.999)
    .default(99.9)
    .describe(
      'Share of the requests of the monitor to the gateways, in per cent, that have to be answered. Alerts say when the rest is used up too fast',
    ),
  drift_check: z
    .strictObject({
      every_minutes: types.whole(5, 10_080).default(60).describe('Minutes between two checks'),
      user: z
        .string()
        .regex(/^[a-z_][a-z0-9_-]*$/, 'must be the name of a user')
        .default('root')
        .describe('Who runs it on the controller, with a clone of this project and a key of its own'),
    })
    .optional()
    .describe(
      'Scheduled check mode on a controller, by playbooks/schedule.mjs. It is an alert if it never ran',
    ),
  certificates: z
    .array(types.absolutePath)
    .default([])
    .describe('Certificates on the host whose end is watched, as paths'),
};
