// In place of the Docker engine, of a chain and of a webhook: what they answer, on a host of a test.
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';

const pid = () =>
  execFileSync('systemctl', ['show', '-p', 'MainPID', '--value', 'state-db'], { encoding: 'utf8' }).trim();
const block = { number: '0x29', timestamp: '0x5f5e100', hash: `0x${'a'.repeat(64)}` };

const engine = createServer(({ url }, answer) => {
  if (url === '/info') return answer.end('{"DockerRootDir":"/var/lib/docker"}');
  if (url !== '/containers/state-db/json') return answer.writeHead(404).end('{}\n');
  const state = { Status: 'running', Pid: Number(pid()), ExitCode: 0, StartedAt: '2026-11-01T00:00:00Z' };
  answer.end(
    `${JSON.stringify({ RestartCount: 0, Image: 'sha256:1', State: state, Config: { Image: 'postgres:15' } })}\n`,
  );
});
const chain = createServer((request, answer) => {
  let body = '';
  request.on('data', (part) => {
    body += part;
  });
  request.on('end', () => {
    if (request.url === '/alert') {
      mkdirSync('/run/stand-in', { recursive: true });
      writeFileSync('/run/stand-in/alert', body);
      return answer.end();
    }
    const { method } = JSON.parse(body);
    const result = method === 'eth_blockNumber' ? block.number : block;
    answer.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result }));
  });
});
rmSync('/run/docker.sock', { force: true });
engine.listen('/run/docker.sock');
chain.listen(8123, '127.0.0.1');
