import toml from '@iarna/toml';
import type { Reader } from '../../engine/host/host.ts';
import { shownAddress } from '../../engine/resource/network/http.ts';
import {
  drift,
  expectation,
  ok,
  type Resource,
  refused,
  type Verdict,
  warning,
} from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { fieldsOf } from '../../engine/text/keys.ts';
import { askNewestLogs } from '../chain/newest-logs.ts';
import { askChainId, isOfChain } from '../chain/reachable.ts';
import { renderHost } from '../render/render.ts';
import { haproxyIsNewEnough } from '../server/haproxy-version.ts';
import { layer1Unit } from '../server/layer1-unit.ts';
import { portIsFree } from '../server/published-ports.ts';
import { choosesLayer1, layer1Key, layer1Urls } from '../variables/layer1.ts';
import type { Variables } from '../variables/variables.ts';
import { goesOn } from './goes-on.ts';
import { beforehand } from './known.ts';

/**
 * Layer 1 answers, and is of its chain. The Database+Sync server, whose node reads logs, asks for
 * them, too. Of several addresses, it asks each; the nodes of other servers ask that server. Where
 * a node has read its logs from one address before, a failure to give logs is a warning.
 */
export function layer1Answers(context: Context<Variables>): Resource[] {
  const { host, vars } = context;
  if (!choosesLayer1(vars)) return [oneAnswers(context)];
  if (!host.groups.includes('database')) return [];
  return [
    haproxyIsNewEnough(context.facts.distribution, 'several providers of layer 1'),
    portIsOurs(vars),
    providersAnswer(context),
  ];
}

function oneAnswers(context: Context<Variables>): Resource {
  const { host, vars } = context;
  const { l1_rpc_url = '', chain_id } = vars.network;
  return expectation('layer 1 answers', {
    check: async (reader) => {
      if (!host.groups.includes('database'))
        return isOfChain(l1_rpc_url, await askChainId(reader, l1_rpc_url), chain_id);
      const [{ is, why, hint, logs }, hasData] = await Promise.all([
        askProvider(reader, l1_rpc_url, context),
        goesOn(reader, context, l1_rpc_url, ['sync']),
      ]);
      if (is === 'good') return ok;
      if (logs && hasData) return warning(`${why}; this server goes on with what it has`);
      if (logs && is === 'away') return warning(`${why}; the node asks for logs at its start`);
      return is === 'away' ? drift(why) : refused(why, hint);
    },
    hint: 'check network.l1_rpc_url and network.chain_id in the inventory: the node ends at its start when layer 1 does not answer, and with another chain it drops its blocks of layer 1',
  });
}

function portIsOurs({ ports: { layer1: port } }: Variables): Resource {
  const name = `port ${port} is free for layer 1`;
  const check = async (reader: Reader) => {
    const [unit, verdict] = await Promise.all([
      reader.unit(layer1Unit),
      portIsFree(reader, { port, container: '' }),
    ]);
    return unit.active === 'active' ? ok : verdict;
  };
  const hint = `stop what holds it (ss -lntp "sport = :${port}"), or choose another ports.layer1 in the inventory`;
  return beforehand(name, expectation(name, { check, hint }));
}

/**
 * What does not answer now is a warning while another does: a deploy must be possible while one is
 * down, which is what the others are for. What time does not cure is refused, also of one: another
 * chain, and a limit of blocks below what the node asks for.
 */
function providersAnswer(context: Context<Variables>): Resource {
  const { vars } = context;
  return expectation('providers of layer 1 answer', {
    async check(reader) {
      const verdicts = await Promise.all(layer1Urls(vars).map((url) => askProvider(reader, url, context)));
      const wrong = verdicts.find(({ is }) => is === 'never');
      if (wrong) return refused(wrong.why, wrong.hint);
      const away = verdicts.filter(({ is }) => is === 'away').map(({ why }) => why);
      if (away.length === 0) return ok;
      const all = away.join('; ');
      return away.length === verdicts.length ? drift(all) : warning(`${all}; the node uses the others`);
    },
    hint: 'check network.l1_rpc_urls in the inventory, and the firewall of this host: the node ends at its start when no provider of layer 1 answers',
  });
}

/** Blocks whose logs the node asks for at its start. */
async function blocksOfOneRequest(context: Context<Variables>): Promise<number> {
  const { files } = await renderHost(context);
  const node = files.find(({ name }) => name === 'node.config.toml');
  const { Etherman } = fieldsOf(toml.parse(node?.content.text ?? ''));
  return Number(fieldsOf(Etherman).ForkIDChunkSize) || 0;
}

interface Asked {
  /** `away`: it does not answer now. `never`: it will not do, also later. */
  readonly is: 'good' | 'away' | 'never';
  readonly why: string;
  readonly hint: string;
  /** Whether all but the logs is right. */
  readonly logs?: boolean;
}

const good: Asked = { is: 'good', why: '', hint: '' };
const away = (why: string): Asked => ({ is: 'away', why, hint: '' });

/** Both questions are one request to the host. */
async function askProvider(reader: Reader, url: string, context: Context<Variables>): Promise<Asked> {
  const { vars } = context;
  const chunk = await blocksOfOneRequest(context);
  const [id, logs] = await Promise.all([askChainId(reader, url), askNewestLogs(reader, url, chunk)]);
  if (!id.ok) return away(id.error);
  const ofChain: Verdict = isOfChain(url, id, vars.network.chain_id);
  if (ofChain.is === 'drift') {
    const hint = `check network.${layer1Key(vars)} and network.chain_id in the inventory`;
    return { is: 'never', why: ofChain.note ?? '', hint };
  }
  if (logs.ok) return good;
  // A limit of requests passes, one of blocks does not. Behind a balancer the next server may lack
  // the newest block.
  const isLimit = /\b(block|range|results?)\b/i.test(logs.error) && logs.code !== undefined;
  const isBehind = /\b(beyond|latest|head|future|not found|unknown)\b/i.test(logs.error);
  if (!isLimit || isBehind) return { ...away(logs.error), logs: true };
  return {
    is: 'never',
    logs: true,
    why: `${shownAddress(url)} gives no logs of ${chunk} blocks: ${logs.error}`,
    hint: 'use another provider, or a smaller node_config.Etherman.ForkIDChunkSize in the inventory',
  };
}
