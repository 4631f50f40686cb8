import { defineConfig } from 'vitepress';

const page = (text, link) => ({ text, link });

export default defineConfig({
  title: 'rpc-playbooks',
  description: 'Declarative playbooks for RPC-only nodes of a layer-2 chain',
  // The test of the documentation checks links out of this folder, too.
  ignoreDeadLinks: [/\.\.\/(README|CONTRIBUTING|CHANGELOG)/, /\.\.\/(lib|roles|templates|playbooks|inventory|test)\//],
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
          page('From Ansible', '/from-ansible'),
          page('From Kamal', '/from-kamal'),
        ],
      },
      {
        text: 'Jobs',
        items: ['Deploy', 'Change', 'Upgrade', 'Watch', 'Recover'].map((job) => page(job, `/${job.toLowerCase()}`)),
      },
      {
        text: 'In full',
        items: [
          page('Operating', '/operating'),
          page('Your data', '/data'),
          page('Secrets', '/secrets'),
          page('Monitoring', '/monitoring'),
          page('Status', '/status'),
        ],
      },
      {
        text: 'Reference',
        items: [
          page('Commands', '/commands'),
          page('Configuration', '/configuration'),
          page('Kinds', '/kinds'),
          page('Events', '/events'),
          page('Wrong input', '/wrong-input'),
          page('Reliability', '/reliability'),
          page('Benchmarks', '/benchmarks'),
          page('Architecture', '/architecture'),
        ],
      },
    ],
  },
});
