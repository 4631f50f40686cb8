import { isIP } from 'node:net';

/**
 * Every option of ssh_config(5) that `ssh -G` of OpenSSH 7 to 10 prints, also those of Debian's
 * and of Apple's, and what becomes of it here. For an option that is not in these lists
 * OpenSSH makes the connection, unless the option has ssh's own default.
 */

/** What they say is done: by `ssh -G` itself, or with the connection. */
const followed = [
  'Host',
  'HostName',
  'User',
  'Port',
  'AddressFamily',
  'IdentityFile',
  'IdentitiesOnly',
  'IdentityAgent',
  'ProxyJump',
  'UserKnownHostsFile',
  'GlobalKnownHostsFile',
  'HostKeyAlias',
  'RevokedHostKeys',
  'RequiredRSASize',
  'KexAlgorithms',
  'Ciphers',
  'MACs',
  'HostKeyAlgorithms',
  'PubkeyAcceptedAlgorithms',
  'PubkeyAcceptedKeyTypes',
  'CanonicalizeHostname',
  'CanonicalizeFallbackLocal',
  'CanonicalizeMaxDots',
  'CanonicalizePermittedCNAMEs',
  'CanonicalDomains',
  'IgnoreUnknown',
  'Tag',
];

/**
 * What they say makes no difference to where, as which user and how safely the connection is made.
 */
const harmless: readonly (readonly [why: string, options: readonly string[]])[] = [
  [
    'the SSH library logs in by a key alone; OpenSSH, which obeys these, may log in where no key does',
    [
      'BatchMode',
      'PasswordAuthentication',
      'KbdInteractiveAuthentication',
      'KbdInteractiveDevices',
      'ChallengeResponseAuthentication',
      'NumberOfPasswordPrompts',
      'HostbasedAuthentication',
      'HostbasedAcceptedAlgorithms',
      'HostbasedKeyTypes',
      'EnableSSHKeysign',
      'GSSAPIAuthentication',
      'GSSAPIDelegateCredentials',
      'GSSAPIKeyExchange',
      'GSSAPIKexAlgorithms',
      'GSSAPIClientIdentity',
      'GSSAPIServerIdentity',
      'GSSAPITrustDNS',
      'GSSAPIRenewalForcesRekey',
      'UseKeychain',
      'AddKeysToAgent',
    ],
  ],
  // A key that needs it is among those that cannot be used.
  ['the SSH library uses no key on a security device', ['SecurityKeyProvider']],
  ['the SSH library accepts no certificate', ['CASignatureAlgorithms']],
  [
    'a host key that is not known is refused in any case, and known_hosts stays as it is',
    [
      'StrictHostKeyChecking',
      'NoHostAuthenticationForLocalhost',
      'VerifyHostKeyDNS',
      'UpdateHostKeys',
      'HashKnownHosts',
      'VisualHostKey',
      'FingerprintHash',
    ],
  ],
  [
    'nothing is forwarded',
    [
      'ForwardAgent',
      'ForwardX11',
      'ForwardX11Trusted',
      'ForwardX11Timeout',
      'XAuthLocation',
      'LocalForward',
      'RemoteForward',
      'DynamicForward',
      'PermitRemoteOpen',
      'GatewayPorts',
      'ClearAllForwardings',
      'ExitOnForwardFailure',
      'StreamLocalBindMask',
      'StreamLocalBindUnlink',
      'Tunnel',
      'TunnelDevice',
    ],
  ],
  ['each run makes a connection of its own', ['ControlMaster', 'ControlPath', 'ControlPersist']],
  [
    'the connection has its own time limits, attempts and signs of life',
    [
      'ConnectTimeout',
      'ConnectionAttempts',
      'ServerAliveInterval',
      'ServerAliveCountMax',
      'TCPKeepAlive',
      'ChannelTimeout',
    ],
  ],
  ['it changes the speed alone', ['Compression', 'CompressionLevel', 'IPQoS']],
  ['a script sets its own environment', ['SendEnv', 'SetEnv']],
  [
    'it is about the terminal, the log and the process of ssh',
    [
      'RequestTTY',
      'EscapeChar',
      'EnableEscapeCommandline',
      'ObscureKeystrokeTiming',
      'StdinNull',
      'ForkAfterAuthentication',
      'LogLevel',
      'LogVerbose',
      'SyslogFacility',
      'VersionAddendum',
      'WarnWeakCrypto',
    ],
  ],
  ['the option beside it is looked at', ['PermitLocalCommand', 'ProxyUseFdpass']],
];

/** Values that change nothing. */
const isOff = (value: string) => /^(no|false|none)$/.test(value);

/** What the SSH library cannot do, so OpenSSH connects to a host with another value. */
const beyondLibrary: Readonly<Record<string, (value: string) => boolean>> = {
  // ssh looks a name up.
  BindAddress: (value) => isOff(value) || isIP(value) !== 0,
  ProxyCommand: isOff,
  BindInterface: isOff,
  CheckHostIP: isOff,
  KnownHostsCommand: isOff,
  CertificateFile: isOff,
  PKCS11Provider: isOff,
  PubkeyAuthentication: (value) => !isOff(value),
  PreferredAuthentications: (value) => value.split(',').includes('publickey'),
  RekeyLimit: (value) => /^(0|default) (0|none)$/.test(value),
  LocalCommand: isOff,
  // ssh refuses the connection with the words of this option.
  RefuseConnection: isOff,
};

/** With another value ssh itself runs no command that it is given, so such a host is refused. */
const refused: Readonly<Record<string, (value: string) => boolean>> = {
  RemoteCommand: isOff,
  SessionType: (value) => value === 'default',
};

const always = () => true;

const byName = new Map(
  [
    ...[...followed, ...harmless.flatMap(([, options]) => options)].map((name) => ({ name, isFine: always })),
    ...[...Object.entries(beyondLibrary), ...Object.entries(refused)].map(([name, isFine]) => ({
      name,
      isFine,
    })),
  ].map(({ name, isFine }) => [name.toLowerCase(), { name, isFine, isRefusable: name in refused }] as const),
);

/** An option as ssh_config(5) writes it. */
export interface SshOption {
  readonly name: string;
  /** Whether a value of it changes nothing that the SSH library does not do. */
  isFine(value: string): boolean;
  /** Whether OpenSSH cannot do it for us either. */
  readonly isRefusable: boolean;
}

/**
 * @param option in lower case
 * @returns undefined for an unknown option
 */
export function sshOption(option: string): SshOption | undefined {
  return byName.get(option);
}

const harmlessNames = new Set(
  harmless.flatMap(([, options]) => options.map((option) => option.toLowerCase())),
);

/**
 * Whether an option makes no difference here, whatever its value.
 *
 * @param option in lower case
 */
export function isHarmless(option: string): boolean {
  return harmlessNames.has(option);
}
