import { dirname } from 'node:path/posix';
import { quote } from '../../host/quote.ts';
import { command, type Step } from '../../host/step.ts';
import { inRootsFolder } from '../../host/step-script.ts';
import { inTheWay } from '../file/attributes.ts';
import { drift, ok, type Resource, refused, unknownUntil } from '../resource.ts';
import { refuseUnknownSettings } from '../settings.ts';

interface Checkout {
  /** Address of the repository, without a password in it. */
  readonly repository: string;
  /**
   * A tag or a full commit. A branch moves, so no check could see from the host that it is
   * current.
   */
  readonly ref: string;
}

/** A large repository over a slow line. */
const timeoutSeconds = 1800;

/**
 * A Git repository's files at a tag or a commit. Files that Git does not track stay. Three things
 * are refused: local changes, a checkout of another repository, and a folder in which another user
 * than root can change names, as Git runs what is configured there.
 *
 * @example gitCheckout('/opt/tools', { repository: 'https://git.example.org/tools.git', ref: 'v1.4.0' })
 */
export function gitCheckout(path: string, checkout: Checkout): Resource {
  refuseUnknownSettings(`checkout ${path}`, checkout, { repository: true, ref: true });
  const { repository, ref } = checkout;
  const isCommit = /^[0-9a-f]{40}$/.test(ref);
  const wanted = isCommit ? ref : `refs/tags/${ref}`;
  return {
    name: `${path} is ${ref} of ${repository}`,

    async check(host) {
      const [git, there, found] = await Promise.all([
        host.$`command -v git`,
        host.stat(path),
        host.$`sh -c ${stateOf(path, `${wanted}^{commit}`)}`,
      ]);
      if (!git.ok) return unknownUntil('git is installed');
      if (!found.ok) {
        return refused(
          found.stderr.trim(),
          "root would run that user's hooks: choose a folder of root's, such as /opt",
        );
      }
      const [origin, head, tag, ...changed] = found.stdout.split('\n').slice(0, -1);
      const difference = (was: string) => [{ what: 'commit', was, wanted: ref }];
      if (!there) return drift(difference('absent'), [cloned(path, repository, `${wanted}^{commit}`)]);
      if (!origin) return drift(difference('no checkout'), inTheWay(path, `a ${there.type}`, 'Git checkout'));
      if (origin !== repository)
        return refused(`${path} is a checkout of ${origin}`, 'move it, or correct the role');
      if (changed.length > 0) {
        return refused(
          `${path} has local changes: ${changed.map((line) => line.slice(3)).join(', ')}`,
          `see git -C ${path} diff; commit them elsewhere, or undo them`,
        );
      }
      if (tag && tag === head) return ok;
      const update = command({ timeoutSeconds, rootsFolder: path })`
        export GIT_TERMINAL_PROMPT=0
        unset SUDO_UID
        git -C ${path} fetch --quiet --tags origin && git -C ${path} checkout --quiet --detach ${`${wanted}^{commit}`} --`;
      return drift(difference(head ?? ''), [update]);
    },
  };
}

/**
 * A script that prints the origin, the commit, the commit of the wanted version and the changed
 * files, a line each. Git runs what the configuration of a checkout names, so another user's
 * folder is not looked into. Git trusts the user who called sudo, too.
 */
function stateOf(path: string, wanted: string): string {
  const at = quote(path);
  // Without the option it would write the index again.
  return `${inRootsFolder(path)}
unset SUDO_UID
git -C ${at} config --get remote.origin.url || echo
git -C ${at} rev-parse --verify --quiet HEAD || echo
git -C ${at} rev-parse --verify --quiet ${quote(wanted)} || echo
git --no-optional-locks -C ${at} status --porcelain --untracked-files=no || :`;
}

/** The folder gets its name only when it is complete. */
function cloned(path: string, repository: string, commit: string): Step {
  return command({ timeoutSeconds, rootsFolder: dirname(path) })`
    export GIT_TERMINAL_PROMPT=0
    unset SUDO_UID
    half=$(mktemp -d ${`${path}.XXXXXX`}) || exit
    git clone --quiet --no-checkout -- ${repository} "$half" && git -C "$half" checkout --quiet --detach ${commit} -- &&
      chmod 755 "$half" && mv -T "$half" ${path} && exit
    rm -rf "$half"
    exit 1`;
}
