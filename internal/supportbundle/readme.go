package supportbundle

// readme lists the files, and the data that is left out on purpose.
const readme = `Files in this bundle
    version.json   the version of fettle, and the limits of its compiler here
    status.json    the applied state, and pending actions
    log.json       every run: time, user, result
    runs/N.json    the last runs: addresses, actions, results, and the aspects
                   that differed
    journals.json  the number of records of each kind in each journal
    facts.json     facts of the host: names, addresses, sizes
    disk.txt       free space of the root and the state directory
    inodes.txt     free inodes of both
    failed.txt     failed units
    packages.txt   packages that dpkg reports as half installed
    missing.json   data that could not be collected

Omitted data
  - content of files, differences of content, before-images, and their digests
  - steps and lists, and therefore commands, their arguments and environment
  - lines of accounts, password hashes, comments and homes of accounts
  - values of settings; of a difference, the bundle contains only mode, owner,
    group, type, version, and the state of units and packages
  - output of commands, and texts of errors and notes: see "fettle show RUN"
  - regions of edited files, and names of commands that contain special characters
  - values of variables on the command line, and reasons of a freeze
  - subjects and authors of commits

Review the bundle before you share it: it contains paths, host names, user names
and addresses.
`
