// Loaded into a run (node --import): appends what a host answered to each request to the file
// RECORD, as JSON lines. The random words of a request are numbered, so that `light-hosts.mjs` can
// give the same answer to the same request with others.
import { appendFileSync } from 'node:fs';
import { patchSsh } from '../patch-ssh.mjs';
import { sentScript } from '../sent-script.mjs';
import { withoutNonces } from './requests.mjs';

const { RECORD = '' } = process.env;

patchSsh((client) => {
  const run = client.exec;
  client.exec = /** @this {any} */ function (
    /** @type {string} */ command,
    /** @type {any} */ options,
    /** @type {any} */ callback,
  ) {
    return run.call(this, command, options, (/** @type {any} */ error, /** @type {any} */ stream) => {
      const said = { out: '', err: '' };
      let given = '';
      if (stream) {
        const write = stream.write;
        stream.write = (/** @type {Buffer} */ chunk, /** @type {any[]} */ ...rest) => {
          given += chunk.toString('latin1');
          return write.call(stream, chunk, ...rest);
        };
      }
      stream?.on('data', (/** @type {Buffer} */ chunk) => {
        said.out += chunk.toString('latin1');
      });
      stream?.stderr.on('data', (/** @type {Buffer} */ chunk) => {
        said.err += chunk.toString('latin1');
      });
      stream?.on('close', (/** @type {number} */ code) => {
        const { text, nonces } = withoutNonces(sentScript(command, given)?.script ?? command);
        const [out, err] = [said.out, said.err].map((each) => withoutNonces(each, nonces).text);
        appendFileSync(RECORD, `${JSON.stringify({ text, out, err, code })}\n`);
      });
      callback(error, stream);
    });
  };
});
