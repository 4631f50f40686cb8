/**
 * What words of the node, of the programs that it asks, and of PostgreSQL mean for an operator.
 * From the node's source (v3.1.0) and from runs.
 */
const causes: readonly { readonly words: RegExp; readonly means: string }[] = [
  {
    words: /not a processor for this fork ?id|unsupported fork ?id|invalid fork ?id/i,
    means: 'the chain has a fork that this version of the node or the prover does not know: upgrade both',
  },
  {
    words: /no contract code at given address/i,
    means: 'layer 1 has no contract at an address of the genesis file: one of the two is of another network',
  },
  {
    words: /abi: attempting to unmarshal an empty string/i,
    means: 'layer 1 answers a call of a contract with nothing: it is another network, or still synchronising',
  },
  {
    words: /execution reverted/i,
    means:
      'a contract refused the call: genesis file and layer 1 are of different networks, or a transaction cannot be replayed',
  },
  {
    words: /unknown migration in database/i,
    means: 'the database was used by another version of the node, which changed its tables',
  },
  {
    words: /needs to run \d+ migrations before starting/i,
    means: 'sync of this version has not migrated the state database yet, or one of another version has',
  },
  {
    words: /flushID is 0/i,
    means: 'the prover of this server has dbReadOnly, which only provers of RPC servers may have',
  },
  {
    words: /password authentication failed|role "[^"]*" does not exist/i,
    means: 'the database has another user or password than the configuration',
  },
  {
    words: /too many (clients already|open files)|remaining connection slots/i,
    means: 'a limit is used up: connections of the database, or open files of the container',
  },
  {
    words:
      /query returned more than \d+ results|query exceeds max results|block range|range (is )?too (large|wide)|limit(ed)? to (a )?\d+ blocks?/i,
    means:
      'the provider of layer 1 limits how many blocks one request may cover: lower Etherman.ForkIDChunkSize, or use another',
  },
  {
    words: /429 Too Many Requests|rate limit|compute units per second/i,
    means: 'the provider limits requests: use another, or a larger plan',
  },
  {
    words: /x509: certificate signed by unknown authority/i,
    means:
      'the image does not have the authority of that certificate: authorities that were added to the server are not in its containers',
  },
  {
    words: /pruned history unavailable|missing trie node/i,
    means: 'the provider of layer 1 has nothing of that age any more: use one that keeps all of it',
  },
  {
    words: /the method zkevm_\w+ does not exist/i,
    means:
      'what answers is no trusted sequencer, or without the namespace zkevm: check network.trusted_sequencer_url',
  },
  {
    words: /could not resize shared memory segment/i,
    means: '/dev/shm of the container is full, not a disk: raise state_db.shm_size',
  },
  {
    words: /exec format error/i,
    means: 'the image is of another architecture than this server',
  },
  {
    words: /GLIBC_[\d.]+' not found/,
    means: 'the image has an older C library than the program was built with: use an image of another build',
  },
  { words: /no space left on device/i, means: 'a disk is full' },
  {
    words: /read-only file system/i,
    means: 'a disk is read-only: the kernel makes it so after a fault, which dmesg has, or it was mounted so',
  },
  { words: /input\/output error/i, means: 'a disk has a fault: dmesg says which' },
  {
    words: /could not map anonymous shared memory/i,
    means:
      'the server has less free memory than PostgreSQL wants: of the state database state_db.shared_buffers',
  },
  {
    words:
      /could not locate a valid checkpoint record|incorrect checksum in control file|could not find the database system|invalid page in block/i,
    means:
      'files of the database are damaged or gone: a state database is recovered from its backup, and on a replica copied again',
  },
  {
    words: /^panic: |invalid memory address or nil pointer/i,
    means: 'a fault of the program itself: look for this text among the issues of its version',
  },
];

/**
 * The words of a program, followed by what they mean.
 *
 * @param words one line of a log
 * @returns `WORDS (MEANING)`, or the words alone where no cause is known
 */
export function explained(words: string): string {
  const means = causes.find((cause) => cause.words.test(words))?.means;
  return means === undefined ? words : `${words} (${means})`;
}
