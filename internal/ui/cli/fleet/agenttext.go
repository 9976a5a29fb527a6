package fleet

const agentLong = `Runs this host as a target of a fleet. Its agent applies the configuration
that the hubs of the fleet assign: it fetches, compiles, plans, applies and
checks it, repairs drift, and reports. It continues without the hubs.

The agent uses the same journal and the same lock as fettle apply. Therefore
fettle status, log, rollback and freeze work as without an agent.

  fettle agent enrol --hub https://hub.example.org:7440 --token-file -
  systemctl enable --now fettle-agent

If /etc/fettle/allowed_signers exists, the agent accepts only commits that a key
in this file signed for this fleet. The file has the format of the OpenSSH file
with the same name. A commit is for this fleet if the root directory of the
repository contains an empty file fleet-sha256-DIGEST. DIGEST is the SHA-256
digest of the certificate of the fleet CA.

The signature of a commit does not say that the commits below it are signed. Two
settings in /etc/fettle/agent.conf require more. They need allowed_signers, and
hubs cannot change them:

  require_every_commit_signed = true   Each commit since the last accepted commit
                                       has a valid signature.
  require_descent = true               The last accepted commit is an ancestor of
                                       the new commit.

A commit that does not meet them needs a permit: fettle permit --help.

If a rollout fails, the host returns to the content that it had before, although
its commit is older. It does so without a permit within three days after the
change, or within another time:

  return_within = "12h"                "0" means never, as with require_descent.`
