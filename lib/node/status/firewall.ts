import type { Reader } from '../../engine/host/host.ts';
import { seconds } from '../../engine/output/units.ts';
import { firewallState, firewallUnit } from '../server/firewall-state.ts';
import { type Finding, fault, note } from './judge.ts';
import { count } from './words.ts';

/** The host looks every 30 s: results of an earlier time say nothing. Seconds. */
const oldest = 120;

/** Somebody who removed rules within this time is reported. Seconds. */
const recent = 24 * 3600;

/** What is wrong with the rules of the firewall, by the host's last look at them. */
export async function readFirewall(host: Reader): Promise<readonly Finding[]> {
  const [content, clock] = await Promise.all([host.read(firewallState), host.$`date +%s`]);
  if (!content)
    return [note('firewall-unwatched', 'firewall', 'nobody looks after its rules yet: a deploy sets it up')];
  return judgeFirewall(content.toString(), Number(clock.text()));
}

/**
 * @param text of the state that templates/host/firewall.sh leaves.
 * @param at the host's time, seconds since 1970
 */
function judgeFirewall(text: string, at: number): readonly Finding[] {
  const value = (key: string) => new RegExp(`^${key} (.*)$`, 'm').exec(text)?.[1] ?? '';
  const [age, restored] = [at - Number(value('checked')), Number(value('restored'))];
  const ago = at - Number(value('restored_at'));
  const missed = value('missed');
  const times = restored === 1 ? 'once' : `${count(restored)} times`;
  const words = `somebody else removed its rules ${times} since the boot; they were put back ${seconds(ago)} ago (${missed})`;
  const unchecked = `its rules were last checked ${seconds(age)} ago: see systemctl status ${firewallUnit}.timer`;
  return [
    ...(value('loaded') === '1'
      ? []
      : [
          fault(
            'firewall-down',
            'firewall',
            `its rules are not loaded: journalctl -u ${firewallUnit} has the reason`,
          ),
        ]),
    ...(age > oldest ? [fault('firewall-unchecked', 'firewall', unchecked, { age })] : []),
    ...(restored > 0 && ago < recent
      ? [note('firewall-flushed', 'firewall', words, { restored, ago, missed })]
      : []),
  ];
}
