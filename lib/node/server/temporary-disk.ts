import type { BlockDevice, Mount } from '../../engine/host/facts/facts.ts';
import { allBeneath, devicesOf, type Host, isNvme, isSameFileSystem } from './beneath.ts';

/**
 * Models of disks that a cloud empties when the server is stopped, moved or resized. Amazon: "SSD
 * instance store volumes"; Azure: "Temp NVMe disks", and azure-vm-utils' rules for udev; Google:
 * "Local SSD disks", and the guest environment's rules.
 */
const temporaryModels = [
  /^Amazon EC2 NVMe Instance Storage/i,
  /^Microsoft NVMe Direct Disk/i,
  /^nvme_card\d*$/,
  /^EphemeralDisk$/,
];

/** Models of disks that outlive the server. */
const lastingModels = [
  /^Amazon Elastic Block Store/i,
  /^MSFT NVMe Accelerator/i,
  /^nvme_card-pd$/,
  /^PersistentDisk$/,
  /^Alibaba Cloud Elastic Block Storage/i,
];

/**
 * Clouds whose every lasting NVMe disk has a model of its own, by the maker of the machine. What
 * is not one of these is temporary.
 */
const cloudsWithModels = [/^Amazon EC2/, /^Google/, /^Alibaba Cloud/];

/** Links that the rules of a cloud make for a temporary disk and its partitions. */
const temporaryLinks =
  /^\/dev\/disk\/(cloud\/azure_resource|azure\/(resource|local\/|temp\/)|by-id\/(google-local-|nvme-Amazon_EC2_NVMe_Instance_Storage))/;

/**
 * Where Hyper-V has the temporary disk of Azure, as its agent's rules for udev find it: the second
 * IDE disk of a machine of generation 1, and the second disk of the first SCSI controller of one
 * of generation 2.
 */
const azureResource =
  /\/(00000000-0001-[^/]*\/host\d+|f8b3781a-1e82-4818-a1c3-63d806ec15bb\/host\d+\/target[\d:]+\/\d+:\d+:\d+:1)\//i;

/** The labels of OpenStack's ephemeral disk and of Azure's temporary one. */
const temporaryLabels = /^(ephemeral\d+|Temporary Storage)$/i;

/** Where cloud-init mounts the temporary disk of a cloud by itself. */
const cloudInitPlaces = ['/mnt', '/mnt/resource'];

/**
 * What no guess can outweigh: memory, and a temporary disk below an array, a volume or a file.
 *
 * @returns why it is one, in words
 */
export function whyTemporary(mount: Mount, host: Host): string | undefined {
  if (['tmpfs', 'ramfs'].includes(mount.type)) return `${mount.target} is in memory (${mount.type})`;
  const devices = devicesOf(mount, host.blockDevices);
  const ofDevice = whyDevicesAreTemporary(devices, host);
  if (ofDevice !== undefined) return ofDevice;
  const same = host.mounts.filter((each) => isSameFileSystem(each, mount));
  const warned = [mount, ...same].find(({ saysDataLoss }) => saysDataLoss);
  if (warned) return `${warned.target}/DATALOSS_WARNING_README.txt says that its data will be lost`;
  const targets = [mount, ...same].map(({ target }) => target);
  const entry = host.fstab.find(
    ({ source, target }) =>
      targets.includes(target) && /azure_resource|azure\/resource|ephemeral\d/.test(source),
  );
  if (entry) return `/etc/fstab mounts ${entry.source} at ${entry.target}`;
  if (allBeneath(devices, host).some(({ model }) => lastingModels.some((known) => known.test(model))))
    return undefined;
  const byCloudInit = host.fstab.find(
    ({ target, options }) =>
      targets.includes(target) && cloudInitPlaces.includes(target) && options.includes('comment=cloudconfig'),
  );
  return (
    byCloudInit &&
    `cloud-init has mounted it at ${byCloudInit.target}, where it mounts the cloud's temporary disk`
  );
}

/** Why one of the devices, or one below them, is temporary, in words. */
export function whyDevicesAreTemporary(devices: readonly BlockDevice[], host: Host): string | undefined {
  for (const device of allBeneath(devices, host)) {
    const why = whyDevice(device, host.vendor);
    if (why !== undefined) return why;
  }
  return undefined;
}

function whyDevice(device: BlockDevice, vendor: string): string | undefined {
  const { path, model, links, sysfs, label } = device;
  const [name] = links.filter((link) => temporaryLinks.test(link));
  if (name !== undefined) return `${path} is ${name}`;
  if (temporaryModels.some((known) => known.test(model))) return `${path} is a disk "${model}"`;
  if (azureResource.test(`${sysfs}/`)) return `${path} is Azure's resource disk`;
  if (temporaryLabels.test(label)) return `${path} has the label "${label}"`;
  if (/^\/dev\/z?ram\d/.test(path)) return `${path} is in memory`;
  const isLasting = lastingModels.some((known) => known.test(model));
  if (isNvme(device) && model !== '' && !isLasting && cloudsWithModels.some((maker) => maker.test(vendor)))
    return `${path} is a local disk of the cloud's machine ("${model}")`;
  return undefined;
}
