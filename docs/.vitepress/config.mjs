import { defineConfig } from 'vitepress';

const page = (text, link) => ({ text, link });

export default defineConfig({
  title: 'rpc-playbooks',
  description: 'Declarative playbooks for RPC-only nodes of a layer-2 chain',
  // The test of the documentation checks links out of this folder, too.
  ignoreDeadLinks: [
    /\.\.\/(README|CONTRIBUTING|CHANGELOG)/,
    /\.\.\/(lib|roles|templates|playbooks|inventory|test)\//,
  ],
  head: [
    // Long words and commands break, so that nothing has to be scrolled sideways.
    [
      'style',
      {},
      `.vp-doc td, .vp-doc code { overflow-wrap: anywhere }
      .vp-doc div[class*='language-'] pre code { white-space: pre-wrap; width: auto }`,
    ],
  ],
  markdown: {
    // Braces in code are text, and no expressions of Vue.
    config: ({ renderer, utils }) => {
      const verbatim = (text) => `<code v-pre>${utils.escapeHtml(text)}</code>`;
      renderer.rules.code_inline = (tokens, index) => verbatim(tokens[index].content);
      renderer.rules.code_block = (tokens, index) => `<pre>${verbatim(tokens[index].content)}</pre>\n`;
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar: [
      {
        text: 'Start',
        items: [
          page('Five minutes', '/start'),
          page('A week in the lab', '/lab-week'),
          page('Machines from elsewhere', '/machines-from-elsewhere'),
          page('From Ansible', '/from-ansible'),
          page('From Kamal', '/from-kamal'),
        ],
      },
      {
        text: 'Tasks',
        items: [
          page('Deploy', '/deploy'),
          page('Change', '/change'),
          page('Upgrade', '/upgrade'),
          page('Recover', '/recover'),
          page('Rewind', '/rewind'),
          page('Asked before', '/asked-before'),
          page('Network', '/network'),
          page('Clients of a gateway', '/clients'),
          page('Check mode in CI', '/ci'),
          page('Your data', '/data'),
          page('Snapshots in storage', '/storage'),
          page('Backups off the site', '/backup-copy'),
          page('Replicas', '/replicas'),
          page('Layer 1 by several providers', '/layer1'),
          page('Secrets', '/secrets'),
          page('Encryption', '/encryption'),
        ],
      },
      {
        text: 'Watch',
        items: [
          page('Status', '/status'),
          page('Monitoring', '/monitoring'),
          page('Alerts', '/alerts'),
          page('Alerts of gateways', '/alerts-gateway'),
          page('What has fired each alert', '/alerts-fired'),
        ],
      },
      {
        text: 'Reference',
        items: [
          page('Commands', '/commands'),
          page('Configuration', '/configuration'),
          page('Variables of the node', '/node-variables'),
          page('Variables of the hosts', '/host-variables'),
          page('Variables of the gateways', '/gateway-variables'),
          page('Roles of your own', '/own-roles'),
          page('Kinds', '/kinds'),
          page('Events', '/events'),
          page('On the hosts', '/on-hosts'),
          page('Benchmarks', '/benchmarks'),
          page('Results of the benchmark', '/benchmark-results'),
          page('What a gateway costs', '/gateway-cost'),
          page('What backups cost', '/backup-cost'),
          page('How fast data comes', '/data-speed'),
        ],
      },
      {
        text: 'For contributors',
        items: [
          page('Architecture', '/architecture'),
          page('Reasons', '/reasons'),
          page('Requests', '/requests'),
          page('Reliability', '/reliability'),
          page('Faults of a run', '/faults'),
          page('Faults of hosts', '/faults-hosts'),
          page('Faults of data', '/faults-data'),
          page('Faults of physical snapshots', '/faults-snapshots'),
          page('Gateways under load', '/faults-gateway'),
          page('Faults of storage', '/faults-storage'),
          page('Faults of input and hosts', '/faults-input'),
          page('Wrong input', '/wrong-input'),
          page('Wrong command lines', '/wrong-commands'),
        ],
      },
    ],
  },
});
