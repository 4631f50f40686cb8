import { type Action, command } from '../../host/action.ts';
import { Failure, type Problem } from '../../problem/problem.ts';
import { inTheWay } from '../file/attributes.ts';
import { drift, ok, type Resource, refused, unknownUntil } from '../resource.ts';

interface Checkout {
  /** Address of the repository, without a password in it. */
  readonly repository: string;
  /** A tag or a full commit. A branch moves, so no check could see from the host that it is current. */
  readonly ref: string;
}

/** A large repository over a slow line. */
const timeoutSeconds = 1800;

/**
 * A Git repository's files at a tag or a commit. Files that Git does not track stay. Local changes, and a checkout of another repository,
 * are refused.
 *
 * @example gitCheckout('/opt/tools', { repository: 'https://git.example.org/tools.git', ref: 'v1.4.0' })
 */
export function gitCheckout(path: string, { repository, ref }: Checkout): Resource {
  const isCommit = /^[0-9a-f]{40}$/.test(ref);
  const wanted = isCommit ? ref : `refs/tags/${ref}`;
  return {
    name: `${path} is ${ref} of ${repository}`,

    async check(host) {
      const [git, there, origin, head, tag, local] = await Promise.all([
        host.$`command -v git`,
        host.stat(path),
        host.$`git -C ${path} config --get remote.origin.url`,
        host.$`git -C ${path} rev-parse HEAD`,
        host.$`git -C ${path} rev-parse --verify --quiet ${`${wanted}^{commit}`}`,
        // Without the option it would write the index again.
        host.$`git --no-optional-locks -C ${path} status --porcelain --untracked-files=no`,
      ]);
      if (!git.ok) return unknownUntil('git is installed');
      const difference = (was: string) => [{ what: 'commit', was, wanted: ref }];
      if (!there) return drift(difference('absent'), [cloned(path, repository, `${wanted}^{commit}`)]);
      if (!origin.ok) return drift(difference('no checkout'), inTheWay(path, `a ${there.type}`, 'Git checkout'));
      if (origin.text() !== repository) {
        return refused(`${path} is a checkout of ${origin.text()}`, 'move it, or correct the role');
      }
      if (tag.ok && tag.text() === head.text()) return ok;
      const update = command({ timeoutSeconds })`
        export GIT_TERMINAL_PROMPT=0
        git -C ${path} fetch --quiet --tags origin && git -C ${path} checkout --quiet --detach ${`${wanted}^{commit}`} --`;
      const changed = local.text() === '' ? undefined : local.lines().map((line) => line.slice(3));
      return drift(difference(head.text()), changed ? localChanges(path, changed) : [update]);
    },
  };
}

/** The folder gets its name only when it is complete. */
function cloned(path: string, repository: string, commit: string): Action {
  return command({ timeoutSeconds })`
    export GIT_TERMINAL_PROMPT=0
    half=$(mktemp -d ${`${path}.XXXXXX`}) || exit
    git clone --quiet --no-checkout -- ${repository} "$half" && git -C "$half" checkout --quiet --detach ${commit} -- &&
      chmod 755 "$half" && mv -T "$half" ${path} && exit
    rm -rf "$half"
    exit 1`;
}

function localChanges(path: string, files: readonly string[]): Problem {
  return new Failure(`${path} has local changes: ${files.join(', ')}`, {
    hint: `see git -C ${path} diff; commit them elsewhere, or undo them`,
  });
}
