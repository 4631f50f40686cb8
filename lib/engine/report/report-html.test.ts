import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { html, trusted } from './html.ts';
import { reportHtml } from './report-html.ts';
import { checkRun, failedRun, hostileRun, killedRun, largeRun } from './testdata/runs.ts';
import { recorded, ScriptedRun, type TimedEvent } from './testdata/scripted-run.ts';

const page = (events: readonly TimedEvent[]) => reportHtml(recorded(events));

/** The text of markup, without its tags. */
const textOf = (markup: string) => markup.replaceAll(/<[^>]*>/g, '');

test('a template escapes every text once, in content and in attributes', () => {
  const text = `<b title="x" id='y'>&\u202e\u001b`;
  const escaped = '&lt;b title=&quot;x&quot; id=&#39;y&#39;&gt;&amp;\\u202e\\x1b';
  expect(html`<p title="${text}">${text}</p>`.markup).toBe(`<p title="${escaped}">${escaped}</p>`);
  expect(html`${[html`<i>${'&'}</i>`, 0, false, undefined, ['<']]}${trusted('<hr>')}`.markup).toBe(
    '<i>&amp;</i>0&lt;<hr>',
  );
});

test('the page is one file that loads nothing, and hostile text stays text', () => {
  const markup = page(hostileRun());
  expect(markup.match(/<script/g)).toHaveLength(1);
  expect(markup.match(/<\/script>/g)).toHaveLength(1);
  expect(markup).not.toMatch(/<img|<!--|(src|href)="?http|style="|\son\w+="[^&]/);
  expect(markup).toContain('content="default-src &#39;none&#39;; style-src &#39;sha256-');
  expect(markup).toContain('<h1>deploy&lt;img src=x');
  expect(markup).toContain('{{ data }} $&amp; $1');
  for (const steering of ['\u202e', '\u001b']) expect(markup).not.toContain(steering);
});

test('the title shows playbook, inventory and outcome', () => {
  expect(page(failedRun())).toContain('<title>deploy on lab: failed: rpc-2</title>');
});

test('without scripts the page has failures first, then changes, warnings, all tasks, the timeline and totals', () => {
  const markup = page(failedRun());
  const titles = [...markup.matchAll(/<h2>(.*?)<\/h2>/g)].map(([, title]) => title);
  expect(titles).toEqual([
    'Failures',
    'Changes',
    'Warnings and unknown',
    'Ok after a wait',
    'Tasks',
    'Timeline',
    'Totals',
  ]);
  for (const shown of [
    '-MaxRequestsPerIPAndSecond = 7',
    '+MaxRequestsPerIPAndSecond = 10000',
    'restored from 2024-11-18',
  ])
    expect(markup).toContain(shown);
  expect(textOf(markup)).toContain(
    'packages docker-ce, docker-ce-cli, containerd.io failed; 11 left; next: packages',
  );
  expect(textOf(page(checkRun()))).toContain('docker compose --project-directory /opt/rpc-node up --detach');
  expect(textOf(page(killedRun()))).toContain(
    'last reported at 16:58:42 UTC: restoring 1.7 GiB of 6.0 GiB (27%)',
  );
});

test('every link has a target on the page', () => {
  for (const events of [failedRun(), checkRun(), killedRun(), hostileRun()]) {
    const markup = page(events);
    const ids = new Set([...markup.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id));
    const links = [...markup.matchAll(/href="#([^"]*)"/g)].map(([, link]) => link);
    expect(links.length).toBeGreaterThan(10);
    expect(links.filter((link) => !ids.has(link))).toEqual([]);
  }
});

test('cause and hint are separate, in a note as in an error', () => {
  const run = new ScriptedRun(0);
  run.started('deploy', 'lab', ['a']);
  const hint = 'systemd runs the units of the node: use a host that boots with it';
  run.done('a', 'p', 'preflight', 'systemd is the first process', {
    outcome: 'failed',
    note: `it is not\n${hint}`,
  });
  const error = Object.assign(new Error('systemd: it is not'), { hint });
  run.done('a', 'p', 'preflight', 'systemd', { outcome: 'failed', error });
  run.finished(['a']);
  const markup = page(run.events());
  expect(markup).toContain(`<p>it is not<br><b>Hint:</b> <span class="hint">${hint}</span></p>`);
  expect(markup).toContain(
    `<pre class="error">it is not</pre><p><b>Hint:</b> <span class="hint">${hint}</span></p>`,
  );
});

test('a skipped play, a host that stopped for another reason and the error of a run are shown', () => {
  const run = new ScriptedRun(0);
  run.started('deploy', 'lab', ['a', 'b']);
  run.emit({ type: 'play-skipped', play: 'rpc', why: 'it needs "database"' }, 1);
  for (const host of ['a', 'b'])
    run.emit({ type: 'host-stopped', host, play: 'rpc', why: 'the plan ended' }, 1);
  run.emit({ type: 'run-failed', error: new Error('the plan no longer holds') }, 2);
  const text = textOf(page(run.events()));
  for (const shown of [
    'The run ended',
    'the plan no longer holds',
    'Play rpc was skipped',
    'a, b stopped',
    'the plan ended',
  ])
    expect(text).toContain(shown);
});

test('a run with only its start recorded has a page', () => {
  const run = new ScriptedRun(0);
  run.started('deploy', 'lab', ['a']);
  const text = textOf(page(run.events()));
  for (const shown of [
    'no end is recorded',
    'Nothing failed.',
    'No task was reported.',
    'No time is recorded.',
  ])
    expect(text).toContain(shown);
});

test('the script of the page creates no markup', () => {
  const script = readFileSync(new URL('../../../templates/report/filter.mjs', import.meta.url), 'utf8');
  expect(script).not.toMatch(
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|srcdoc|eval\(|Function\(/,
  );
  expect(script).not.toMatch(/setAttribute\('(style|on)/);
});

test('a page of ten thousand cells stays small, and the same result of a hundred hosts is written once', () => {
  const markup = page(largeRun(100, 100));
  expect(markup.match(/<tr id="row-/g)).toHaveLength(100);
  expect(markup.length).toBeLessThan(1_200_000);
  const run = new ScriptedRun(0);
  const hosts = Array.from({ length: 100 }, (_, at) => `rpc-${at}`);
  run.started('deploy', 'lab', hosts);
  const differences = [{ what: 'content', was: '', wanted: 'one line\n'.repeat(500) }];
  for (const host of hosts)
    run.done(host, 'p', 'r', 'file /etc/x', { outcome: 'changed', seconds: 1, differences });
  expect(page(run.events()).length).toBeLessThan(150_000);
});
