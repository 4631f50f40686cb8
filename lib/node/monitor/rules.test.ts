import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { promtool } from '../../../test/monitoring-programs.mjs';
import { temporaryDirectory } from '../../engine/host/testing/local-connection.ts';
import { loadDeployment } from '../inventory/inventory.ts';
import { labDeployment } from '../testing/lab-deployment.ts';
import { inventoryRules } from './targets.ts';

const root = join(import.meta.dirname, '../../..');
const rulesPath = join(root, 'templates/monitor/rules.yml');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string; readonly runbook: string };
}
const { groups } = parse(readFileSync(rulesPath, 'utf8')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

const on = 'instance="db-1",group="database"';
const onRpc = 'instance="rpc-1",group="rpc"';
const onGateway = 'instance="gw-1",group="gateway"';
const onHttp = `${onGateway},proxy="rpc_http"`;
const onFigures = `${onGateway},key="(none)"`;
const onProbe = 'job="probe",instance="gw-1",group="gateway"';
const onReplica = 'instance="replica-1",group="replica"';
const onBackup = 'instance="backup-1",group="backup"';
const gib = 2 ** 30;

/**
 * Values of promtool, at intervals of 15 s: ten good minutes, `bad` for twenty, good again for
 * forty.
 */
const fault = (good: string | number, bad: string | number) => `${good}x40 ${bad}x80 ${good}x160`;

/**
 * A rule, and series with its fault: it fires at minute 29, and at none of minutes 9 and 48. A
 * rule that waits for half an hour has longer series, and times, of its own.
 */
const cases: readonly (readonly [
  alert: string,
  series: Readonly<Record<string, string>>,
  at?: readonly number[],
])[] = [
  ['SynchronizerHalted', { [`rpc_node_synchronizer_halted{${on}}`]: fault(0, 1) }],
  ['ChainForked', { [`rpc_node_hash_same{${on}}`]: fault(1, 0) }],
  ['ChainStale', { [`rpc_node_lag_seconds{${on}}`]: fault(2, 300) }],
  ['ChainBehind', { [`rpc_node_lag_blocks{${on}}`]: fault(20, 21) }],
  ['SequencerAway', { [`rpc_node_chain_up{${on},source="sequencer"}`]: fault(1, 0) }],
  [
    'SequencerStill',
    { [`rpc_node_block_made_seconds{${on},source="sequencer"}`]: '0+15x40 600+0x80 1800+15x160' },
  ],
  ['Layer1Away', { [`rpc_node_layer1_up{${on}}`]: fault(1, 0) }],
  [
    'Layer1ProvidersFew',
    {
      [`rpc_node_layer1_provider_usable{${on},provider="a.example"}`]: '1x280',
      [`rpc_node_layer1_provider_usable{${on},provider="b.example"}`]: fault(1, 0),
    },
  ],
  ['JsonRpcSilent', { [`rpc_node_chain_up{${onRpc},source="own"}`]: fault(1, 0) }],
  ['JsonRpcExecutesNothing', { [`rpc_node_executes_calls{${onRpc}}`]: fault(1, 0) }],
  ['StateDatabaseSilent', { [`rpc_node_chain_up{${on},source="own"}`]: fault(1, 0) }],
  ['GatewayDown', { [`up{job="gateway",${onGateway}}`]: fault(1, 0) }],
  [
    'GatewayFiguresGone',
    {
      [`up{job="gateway",${onGateway}}`]: '1x280',
      [`up{job="gateway_clients",${onGateway}}`]: fault(1, 0),
    },
  ],
  ['NobodyServes', { [`haproxy_server_status{${onHttp},server="rpc-1",state="UP"}`]: fault(1, 0) }],
  [
    // One for heavy methods serves.
    'NobodyServes',
    {
      [`haproxy_server_status{${onHttp},server="rpc-1",state="UP"}`]: fault(1, 0),
      [`haproxy_server_status{${onGateway},proxy="rpc_heavy",server="rpc-3",state="UP"}`]: '1x280',
    },
  ],
  [
    'RpcHostOut',
    {
      [`haproxy_server_status{${onHttp},server="rpc-1",state="MAINT"}`]: fault(0, 1),
      'haproxy_server_status{instance="gw-2",group="gateway",proxy="rpc_http",server="rpc-1",state="MAINT"}':
        '0x280',
    },
  ],
  [
    'GatewayLimitsHit',
    {
      // Of 100 answers a second, 30 are of RPC hosts that refuse, and then 10 of the gateway, too.
      [`rpc_node_gateway_answers_total{${onFigures},class="usual",code="2xx"}`]: '0+1050x280',
      [`rpc_node_gateway_answers_total{${onFigures},class="usual",code="4xx"}`]:
        '0+450x40 18000+600x80 66000+450x160',
      [`rpc_node_gateway_refused_total{${onFigures},class="usual",reason="requests"}`]:
        '0x40 0+150x80 12000x160',
      [`rpc_node_gateway_refused_total{${onFigures},class="usual",reason="unjudged"}`]: '0+300x280',
    },
  ],
  [
    'GatewayLimitsHit',
    {
      // Of 100 messages of WebSockets a second, 10 are refused.
      [`rpc_node_gateway_calls_total{${onFigures},class="websocket"}`]:
        '0+1500x40 60000+1350x80 168000+1500x160',
      [`rpc_node_gateway_refused_total{${onFigures},class="websocket",reason="message"}`]:
        '0x40 0+150x80 12000x160',
    },
  ],
  [
    'FallbackInUse',
    {
      [`haproxy_backend_http_responses_total{${onGateway},proxy="fallback",code="2xx"}`]:
        '0x40 0+1x80 81x160',
    },
  ],
  [
    'GatewayLosesRequests',
    {
      // Of 100 requests a second, 2 then get no answer; 50 are on their way.
      [`haproxy_frontend_http_requests_total{${onGateway},proxy="rpc"}`]: '0+1500x280',
      [`haproxy_frontend_http_responses_total{${onGateway},proxy="rpc",code="5xx"}`]: '0x280',
      [`haproxy_backend_sessions_total{${onHttp}}`]: '50+1500x280',
      [`haproxy_backend_http_responses_total{${onHttp},code="2xx"}`]:
        '0+1500x40 60000+1470x80 177600+1500x160',
      [`haproxy_backend_current_sessions{${onHttp}}`]: '50x280',
    },
  ],
  [
    'GatewayLosesRequests',
    {
      // RPC hosts answer 2 of 100 requests a second with an error.
      [`haproxy_frontend_http_requests_total{${onGateway},proxy="rpc"}`]: '0+1500x280',
      [`haproxy_frontend_http_responses_total{${onGateway},proxy="rpc",code="5xx"}`]: '0x40 0+30x80 2400x160',
      [`haproxy_backend_sessions_total{${onHttp}}`]: '0+1500x280',
      [`haproxy_backend_http_responses_total{${onHttp},code="2xx"}`]:
        '0+1500x40 60000+1470x80 177600+1500x160',
      [`haproxy_backend_http_responses_total{${onHttp},code="5xx"}`]: '0x40 0+30x80 2400x160',
      [`haproxy_backend_current_sessions{${onHttp}}`]: '0x280',
    },
  ],
  [
    'GatewayCertificate',
    {
      [`rpc_node_certificate_end_seconds{${onGateway},path="/etc/rpc-node/gateway/acme.pem"}`]: fault(
        2e6,
        1.7e6,
      ),
    },
  ],
  [
    'GatewayCertificate',
    {
      [`rpc_node_certificate_end_seconds{${onGateway},path="/etc/rpc-node/gateway/tls.pem"}`]: fault(
        1.3e6,
        1e6,
      ),
    },
  ],
  ['GatewayCertificate', { [`probe_ssl_earliest_cert_expiry{${onProbe}}`]: fault(1.3e6, 1e6) }],
  ['ClientsWait', { [`probe_duration_seconds{${onProbe}}`]: fault('0.01', 2) }],
  ['ReplicaNotReceiving', { [`rpc_node_replica_receiving{${onReplica}}`]: fault(1, 0) }],
  ['ReplicaBehind', { [`rpc_node_replica_behind_bytes{${onReplica}}`]: fault(2 ** 26, 2 ** 26 + 1) }],
  ['ReplicaBehind', { [`rpc_node_replica_behind_seconds{${onReplica}}`]: fault(60, 61) }],
  [
    'ReplicaCancelsQueries',
    { [`rpc_node_replica_cancelled_queries_total{${onReplica}}`]: '7x40 7+0.2x80 23x160' },
  ],
  ['DataMissing', { [`rpc_node_data_missing{${on}}`]: fault(0, 1) }],
  ['ArrayDegraded', { [`rpc_node_arrays_degraded{${on}}`]: fault(0, 1) }],
  ['DockerDown', { [`rpc_node_docker_up{${on}}`]: fault(1, 0) }],
  ['ContainerDown', { [`rpc_node_container_running{${on},container="prover"}`]: fault(1, 0) }],
  [
    'ContainerRestarting',
    { [`rpc_node_container_started_seconds{${on},container="sync"}`]: '5x40 600+60x80 9000x160' },
  ],
  [
    'ContainerEndsOften',
    // It ends every four minutes for 100 minutes, and then no more.
    { [`rpc_node_container_restarts_total{${on},container="sync"}`]: '0x40 0+0.0625x400 25x400' },
    [9, 100, 200],
  ],
  [
    'ContainerUnhealthy',
    {
      [`rpc_node_container_info{${on},container="sync",status="running",health="unhealthy"}`]:
        '_x40 1x80 stale _x160',
    },
  ],
  ['NodeMetricsGone', { [`up{job="node",${on}}`]: fault(1, 0) }],
  [
    'JsonRpcErrors',
    {
      [`jsonrpc_request_handled{${onRpc},type="error"}`]: '0x40 0+90x80 7200x160',
      [`jsonrpc_request_handled{${onRpc},type="single"}`]: '0+10x280',
    },
  ],
  [
    'JsonRpcErrors',
    {
      // Nothing but broken JSON: the node counts each as single, too.
      [`jsonrpc_request_handled{${onRpc},type="invalid"}`]: '0x40 0+10x80 800x160',
      [`jsonrpc_request_handled{${onRpc},type="single"}`]: '0+10x280',
    },
  ],
  [
    'JsonRpcSlow',
    {
      [`jsonrpc_request_duration_sum{${onRpc}}`]: '0+1x40 40+30x80 2440+1x160',
      [`jsonrpc_request_duration_count{${onRpc}}`]: '0+10x280',
    },
  ],
  ['DatabaseDown', { [`pg_up{${on}}`]: fault(1, 0) }],
  ['DatabaseDown', { [`pg_up{${on}}`]: '1x280', [`pg_exporter_last_scrape_error{${on}}`]: fault(0, 1) }],
  [
    'ConnectionsNearlyUsedUp',
    {
      [`pg_stat_activity_count{${on},datname="state_db"}`]: fault(100, 800),
      [`pg_stat_activity_count{${on},datname="prover_db"}`]: '100x280',
      [`pg_settings_max_connections{${on}}`]: '1000x280',
    },
  ],
  ['LongTransaction', { [`pg_stat_activity_max_tx_duration{${on},state="active"}`]: fault(1, 4000) }],
  ['Deadlocks', { [`pg_stat_database_deadlocks{${on}}`]: '0x40 0+1x80 81x160' }],
  [
    'HostGone',
    {
      [`up{job="host",${on}}`]: fault(1, 0),
      [`node_textfile_mtime_seconds{${on},file="/t/rpc_node.prom"}`]: '0+15x280',
    },
  ],
  [
    'DiskFillingUp',
    {
      // Growth of 1 GiB in 10 minutes fills 400 GiB within 67 hours. Then somebody makes room.
      [`node_filesystem_avail_bytes{${on},mountpoint="/data"}`]: `${400 * gib}-${gib / 40}x680 ${900 * gib}+0x160`,
      [`node_filesystem_size_bytes{${on},mountpoint="/data"}`]: `${1000 * gib}x840`,
    },
    [29, 169, 180],
  ],
  [
    'DiskNearlyFull',
    {
      [`node_filesystem_avail_bytes{${on},mountpoint="/data"}`]: fault(300, 70),
      [`node_filesystem_size_bytes{${on},mountpoint="/data"}`]: '1000x280',
    },
  ],
  ['FileSystemReadOnly', { [`node_filesystem_readonly{${on},mountpoint="/data"}`]: fault(0, 1) }],
  [
    'InodesNearlyUsedUp',
    {
      [`node_filesystem_files_free{${on},mountpoint="/data"}`]: fault(300, 30),
      [`node_filesystem_files{${on},mountpoint="/data"}`]: '1000x280',
    },
  ],
  [
    'MemoryShort',
    {
      [`node_memory_MemAvailable_bytes{${on}}`]: fault(300, 30),
      [`node_memory_MemTotal_bytes{${on}}`]: '1000x280',
    },
  ],
  [
    'CpuBusy',
    {
      [`node_cpu_seconds_total{${on},cpu="0",mode="idle"}`]: '0+14x40 560x160 560+14x160',
      [`node_cpu_seconds_total{${on},cpu="0",mode="iowait"}`]: '0x360',
    },
    [9, 49, 85],
  ],
  [
    'ConnectionsTracked',
    {
      [`node_nf_conntrack_entries{${on}}`]: fault(40_000, 60_000),
      [`node_nf_conntrack_entries_limit{${on}}`]: '65536x280',
    },
  ],
  ['ClockOff', { [`rpc_node_clock_synchronised{${on}}`]: fault(1, 0) }],
  ['ClockOff', { [`rpc_node_clock_offset_seconds{${on}}`]: fault('0.1', '-0.7') }],
  [
    'CertificateEnding',
    { [`rpc_node_certificate_end_seconds{${on},path="/etc/tls/a.pem"}`]: fault(9e6, 9e5) },
  ],
  [
    'DatabaseCertificateEnding',
    { [`rpc_node_certificate_end_seconds{${on},path="/etc/rpc-node/tls/server.pem"}`]: fault(9e6, 2.2e6) },
  ],
  ['FirewallDown', { [`rpc_node_firewall_loaded{${on}}`]: fault(1, 0) }],
  ['FirewallDown', { [`rpc_node_firewall_checked_seconds{${on}}`]: '0+15x40 600+0x80 1800+15x160' }],
  ['FirewallFlushed', { [`rpc_node_firewall_restored_total{${on}}`]: '0x40 1x320' }, [9, 29, 75]],
  ['DriftFound', { 'rpc_node_drift_resources{inventory="mainnet",host="rpc-1"}': fault(0, 3) }],
  ['DriftCheckFailed', { 'rpc_node_drift_check_ok{inventory="mainnet"}': fault(1, 0) }],
  [
    'DriftCheckMissing',
    {
      'rpc_node_drift_check_seconds{inventory="mainnet"}': '0+15x40 600+0x80 1800+15x160',
      'rpc_node_drift_every_seconds{inventory="mainnet"}': '300x280',
    },
  ],
  ['ProberGone', { [`up{${onProbe}}`]: fault(1, 0) }],
  ['DatabaseExporterGone', { [`up{job="postgres",${on}}`]: fault(1, 0) }],
  [
    'MetricsOld',
    {
      [`up{job="host",${on}}`]: '1x280',
      [`node_textfile_mtime_seconds{${on},file="/t/rpc_node.prom"}`]: '0+15x40 600+0x80 1800+15x160',
      // What its script has measured is as old.
      [`rpc_node_firewall_checked_seconds{${on}}`]: '0+15x40 600+0x80 1800+15x160',
      [`rpc_node_block_made_seconds{${on},source="sequencer"}`]: '0+15x40 600+0x80 1800+15x160',
    },
  ],
  [
    'MetricsOld',
    {
      [`up{job="host",${on}}`]: '1x280',
      [`node_textfile_mtime_seconds{${on},file="/t/rpc_node.prom"}`]: '0+15x40 stale _x79 1800+15x160',
    },
  ],
  ['BackupFailing', { [`rpc_node_backup_ok{${onBackup}}`]: fault(1, 0) }],
  [
    'BackupFailing',
    {
      [`node_textfile_mtime_seconds{${onBackup},file="/t/rpc_node_backup.prom"}`]:
        '0+15x40 600+0x160 3015+15x160',
      [`rpc_node_backup_newest_seconds{${onBackup}}`]: '0+15x40 600+0x160 3015+15x160',
      [`rpc_node_backup_oldest_allowed_seconds{${onBackup}}`]: '900x360',
      [`rpc_node_backup_copied_base_seconds{${onBackup}}`]: '0+15x40 600+0x160 3015+15x160',
      [`rpc_node_backup_copied_since_seconds{${onBackup}}`]: '0x360',
    },
    // Ten minutes without news, and ten more.
    [9, 35, 65],
  ],
  [
    'BackupFailing',
    {
      [`up{job="host",${onBackup}}`]: '1x280',
      [`node_textfile_mtime_seconds{${onBackup},file="/t/rpc_node.prom"}`]: '0+15x280',
      [`node_textfile_mtime_seconds{${onBackup},file="/t/rpc_node_backup.prom"}`]:
        '0+15x40 stale _x79 1800+15x160',
    },
  ],
  [
    'BackupOld',
    {
      [`rpc_node_backup_newest_seconds{${onBackup}}`]: '0+15x40 600+0x80 1800+15x160',
      [`rpc_node_backup_oldest_allowed_seconds{${onBackup}}`]: '300x280',
    },
  ],
  [
    'BackupCopyOld',
    {
      [`rpc_node_backup_copied_seconds{${onBackup}}`]: '0+15x480 7200+0x320 12000+15x160',
      [`rpc_node_backup_copied_since_seconds{${onBackup}}`]: '0x960',
    },
    [119, 185, 205],
  ],
  [
    'BackupCopyOld',
    {
      [`rpc_node_backup_copied_seconds{${onBackup}}`]: '0+15x280',
      [`rpc_node_backup_copied_since_seconds{${onBackup}}`]: '0x280',
      [`rpc_node_backup_copied_base_seconds{${onBackup}}`]: '0+15x40 600+0x80 1800+15x160',
      [`rpc_node_backup_oldest_allowed_seconds{${onBackup}}`]: '300x280',
    },
  ],
  ['ArchiveBehind', { [`rpc_node_backup_receiving{${onBackup}}`]: fault(1, 0) }],
  ['ArchiveBehind', { [`rpc_node_backup_behind_bytes{${onBackup}}`]: fault(2 ** 28, 2 ** 28 + 1) }],
  ['ArchiveGap', { [`rpc_node_backup_gap{${onBackup}}`]: fault(0, 1) }],
  ['MetricsUnreadable', { [`node_textfile_scrape_error{${on}}`]: fault(0, 1) }],
  [
    'AlertsNotDelivered',
    { 'alertmanager_notification_requests_failed_total{integration="webhook"}': '0x40 0+1x80 81x160' },
  ],
  ['RulesFail', { 'prometheus_rule_evaluation_failures_total{rule_group="chain"}': '0x40 0+1x80 81x160' }],
  ['RulesFail', { prometheus_config_last_reload_successful: fault(1, 0) }],
  ['AlertmanagerGone', { 'up{job="alertmanager",instance="monitor"}': fault(1, 0) }],
  ['AlertmanagerGone', { prometheus_notifications_alertmanagers_discovered: fault(1, 0) }],
];

/** Twenty minutes without an answer to clients, and the rules that fire at a minute. */
const outage = '1x39 0x79 1x1800';
const outageStages: readonly (readonly [minute: number, firing: readonly string[]])[] = [
  [9, []],
  [29, ['BudgetBurnsFast', 'BudgetBurns', 'BudgetBurnsSlowly']],
  [36, ['BudgetBurns', 'BudgetBurnsSlowly']],
  [65, ['BudgetBurnsSlowly']],
  [395, []],
];

/** What is no fault, and the minutes at which no rule fires. */
const silent: readonly (readonly [
  what: string,
  series: Readonly<Record<string, string>>,
  at: readonly number[],
])[] = [
  [
    'a restore that filled half of a disk, and ended an hour ago',
    {
      [`node_filesystem_avail_bytes{${on},mountpoint="/data"}`]: `${900 * gib}-${2 * gib}x240 ${420 * gib}+0x720`,
      [`node_filesystem_size_bytes{${on},mountpoint="/data"}`]: `${1000 * gib}x960`,
    },
    [125, 160, 200, 239],
  ],
  [
    'one of two RPC hosts that serves, and none for heavy methods',
    {
      [`haproxy_server_status{${onHttp},server="rpc-1",state="UP"}`]: '0x280',
      [`haproxy_server_status{${onHttp},server="rpc-2",state="UP"}`]: '1x280',
      [`haproxy_server_status{${onGateway},proxy="rpc_heavy",server="rpc-3",state="UP"}`]: '0x280',
    },
    [20, 60],
  ],
  [
    'a file system that was never writable',
    {
      [`node_filesystem_readonly{${on},mountpoint="/media/config"}`]: '1x280',
    },
    [20, 60],
  ],
  [
    'failures that the objective allows',
    {
      [`probe_success{${onProbe}}`]: '1x39 0x3 1x220',
      rpc_node_objective: '0.95x280',
    },
    [29, 60],
  ],
  [
    'a stopped container with a health check',
    { [`rpc_node_container_info{${on},container="sync",status="exited",health="unhealthy"}`]: '1x280' },
    [20, 60],
  ],
  ['two failures', { [`probe_success{${onProbe}}`]: '1x39 0x1 1x220' }, [11, 29, 60]],
  [
    'a few refused requests of few, and of many messages',
    {
      [`rpc_node_gateway_answers_total{${onFigures},class="usual",code="4xx"}`]: '0+10x280',
      [`rpc_node_gateway_refused_total{${onFigures},class="usual",reason="method"}`]: '0+10x280',
      'rpc_node_gateway_calls_total{instance="gw-2",group="gateway",key="(none)",class="websocket"}':
        '0+1500x280',
      'rpc_node_gateway_refused_total{instance="gw-2",group="gateway",key="(none)",class="websocket",reason="message"}':
        '0+70x280',
    },
    [20, 40, 60],
  ],
  [
    'requests that take four minutes, and WebSockets that stay open',
    {
      [`haproxy_frontend_http_requests_total{${onGateway},proxy="rpc"}`]: '0+30x280',
      [`haproxy_frontend_http_responses_total{${onGateway},proxy="rpc",code="5xx"}`]: '0x280',
      [`haproxy_backend_sessions_total{${onHttp}}`]: '0+30x40 1330+30x240',
      [`haproxy_backend_http_responses_total{${onHttp},code="2xx"}`]: '0+30x56 1810+30x224',
      [`haproxy_backend_current_sessions{${onHttp}}`]: '0x40 100x15 0x224',
      [`haproxy_backend_sessions_total{${onGateway},proxy="rpc_websocket"}`]: '0+15x280',
      [`haproxy_backend_http_responses_total{${onGateway},proxy="rpc_websocket",code="1xx"}`]: '0x280',
      [`haproxy_backend_current_sessions{${onGateway},proxy="rpc_websocket"}`]: '0+15x280',
    },
    [10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 30],
  ],
  [
    'five restarts while a server was set up',
    { [`rpc_node_container_restarts_total{${on},container="sync"}`]: '0x40 0+0.25x20 5x400' },
    [12, 20, 100],
  ],
];

test('every rule has a test', () => {
  const tested = [...cases.map(([alert]) => alert), ...outageStages.flatMap(([, firing]) => firing)];
  expect([...new Set(tested)].sort()).toEqual(rules.map(({ alert }) => alert).sort());
});

test('a host without node_exporter silences no alert on what another program measures', () => {
  const alertmanager = readFileSync(join(root, 'templates/monitor/alertmanager.yml'), 'utf8');
  const { inhibit_rules } = parse(alertmanager) as {
    inhibit_rules: { source_matchers: string[]; target_matchers: string[] }[];
  };
  const byHost = inhibit_rules.find(({ source_matchers }) => source_matchers[0] === 'alertname="HostGone"');
  const spared = byHost?.target_matchers.map((matcher) => /^alertname!~"(.*)"$/.exec(matcher)?.[1]) ?? [];
  const others =
    /\b(haproxy|rpc_node_gateway|probe|pg|jsonrpc|alertmanager|prometheus)_|up\{job="(gateway|probe|alertmanager)/;
  const ofOthers = rules.filter(({ expr }) => others.test(expr)).map(({ alert }) => alert);
  expect(ofOthers.length).toBeGreaterThan(15);
  expect(ofOthers.filter((alert) => !new RegExp(`^(${spared.join('|')})$`).test(alert))).toEqual([]);
});

/** Rows of docs/alerts-fired.md: an alert, and the test with its fault; none where none has it. */
const fired = [
  ...readFileSync(join(root, 'docs/alerts-fired.md'), 'utf8').matchAll(
    /^\| (\w+) \| (.*) \| (?:`(.*)` )?\|$/gm,
  ),
]
  .map(([, alert = '', fault = '', file]) => ({ alert, fault, file }))
  .filter(({ alert }) => alert !== 'Alert');

test('each alert has a row that says which test fires it by its fault, or why none does', async () => {
  const { hosts } = await loadDeployment(
    await labDeployment([
      [
        ['vars', 'monitoring'],
        {
          scrape_from: ['192.0.2.1'],
          drift_check: { every_minutes: 60, user: 'root' },
          receivers: [
            {
              name: 'beat',
              severity: 'heartbeat',
              configs: { webhook_configs: [{ url: 'http://192.0.2.1/' }] },
            },
          ],
        },
      ],
    ]),
  );
  const [host] = hosts;
  if (!host) throw new Error('no host');
  const { groups: ofInventory } = JSON.parse(inventoryRules(hosts, host.vars)) as {
    groups: { rules: Partial<Rule>[] }[];
  };
  const named = ofInventory.flatMap((group) => group.rules).flatMap(({ alert }) => alert ?? []);
  const all = [...rules.map(({ alert }) => alert), ...named];
  expect(fired.map(({ alert }) => alert).sort()).toEqual([...new Set(all)].sort());
});

test.each(fired)(
  '$alert: its test names it, or its row says why it has no test',
  ({ alert, fault, file }) => {
    if (file === undefined) expect(fault).toMatch(/^not fired by a fault/);
    else expect(readFileSync(join(root, file), 'utf8')).toMatch(new RegExp(`['\`]${alert}(?= |')`));
  },
);

test.each(rules)('$alert says what it means, how severe it is, and what to do', ({ labels, annotations }) => {
  expect(['warning', 'critical']).toContain(labels.severity);
  expect(annotations.summary).not.toBe('');
  expect(annotations.description).toMatch(/\.$/);
  const [page = '', anchor] = annotations.runbook.split('#');
  const headings = readFileSync(join(root, page), 'utf8').matchAll(/^#+ (.*)$/gm);
  const anchors = [...headings].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
  expect(anchors).toContain(anchor);
});

const samplesOf = (firing: readonly string[]) =>
  firing.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 }));

/** test/all.mjs gets it. */
test.skipIf(!existsSync(promtool))(
  'each rule fires for its fault, alone, and clears, and none fires without a fault',
  () => {
    const testOf = ([alert, series, [before, during, after] = [9, 29, 48]]: (typeof cases)[number]) => {
      // The comment names the case in promtool's output.
      const firing = { expr: `count by (alertname) (ALERTS{alertstate="firing"}) # ${alert}` };
      return {
        interval: '15s',
        input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
        promql_expr_test: [
          { ...firing, eval_time: `${before}m`, exp_samples: [] },
          {
            ...firing,
            eval_time: `${during}m`,
            exp_samples: samplesOf([alert]),
          },
          { ...firing, eval_time: `${after}m`, exp_samples: [] },
        ],
      };
    };
    const quiet = silent.map(([what, series, times]) => ({
      interval: '15s',
      input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
      promql_expr_test: times.map((at) => ({
        expr: `count by (alertname) (ALERTS{alertstate="firing"}) # ${what}`,
        eval_time: `${at}m`,
        exp_samples: [],
      })),
    }));
    const staged = {
      interval: '15s',
      input_series: [{ series: `probe_success{${onProbe}}`, values: outage }],
      promql_expr_test: outageStages.map(([minute, firing]) => ({
        expr: 'count by (alertname) (ALERTS{alertstate="firing"}) # an outage',
        eval_time: `${minute}m`,
        exp_samples: samplesOf(firing),
      })),
    };
    const folder = temporaryDirectory();
    const hasOwnTimes = ([, , times]: (typeof cases)[number]) => times !== undefined;
    const write = (interval: string, tests: readonly object[]) => {
      const file = join(folder, `${interval}.json`);
      const content = { rule_files: [rulesPath], evaluation_interval: interval, tests };
      writeFileSync(file, JSON.stringify(content));
      return file;
    };
    const files = [
      // These wait long before they look: half as many evaluations show the same in half of the time.
      write('2m', cases.filter((each) => !hasOwnTimes(each)).map(testOf)),
      write('1m', [...cases.filter(hasOwnTimes).map(testOf), ...quiet, staged]),
    ];
    const { stdout, stderr } = spawnSync(promtool, ['test', 'rules', ...files], {
      // To collect its garbage so often takes a third of the time.
      env: { ...process.env, GOGC: '400' },
      encoding: 'utf8',
    });
    expect(stdout + stderr).toBe(files.map((file) => `Unit Testing:  ${file}\n  SUCCESS\n\n`).join(''));
  },
  // Half a minute with nothing beside it.
  600_000,
);
