// What roles are made of, in the order of docs/kinds.md. A team's own roles import from here.

export { authorizedKey } from './account/authorized-key.ts';
export { group } from './account/group.ts';
export { user } from './account/user.ts';
export { mount } from './disk/mount.ts';
export { dockerImage } from './docker/docker-image.ts';
export { download } from './download/download.ts';
export { acceptedFile } from './file/accepted-file.ts';
export { directory } from './file/directory.ts';
export { file } from './file/file.ts';
export { jsonFile } from './file/json-file.ts';
export { line } from './file/line.ts';
export { link } from './file/link.ts';
export { noLine } from './file/no-line.ts';
export { gitCheckout } from './git/git-checkout.ts';
export { eventually } from './job/eventually.ts';
export { job } from './job/job.ts';
export * from './role.ts';
export { okWhen, skipWhen } from './skip-when.ts';
export { packages } from './system/packages.ts';
export { schedule } from './system/schedule.ts';
export { service } from './system/service.ts';
export { stoppedService } from './system/stopped-service.ts';
export { sysctl } from './system/sysctl.ts';
export { timezone } from './system/timezone.ts';
