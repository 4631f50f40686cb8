/** The roles that every server with containers has before them, in their order. */
export const serverRoles = [
  'packages',
  'client-tools',
  'time-sync',
  'docker',
  'docker-root',
  'firewall',
  'disk-alert',
] as const;
