// Package backup saves the keys, the settings and the shared state of a hub, and restores them.
//
//	err := backup.Write(files, dir, state, out)
//	b, err := backup.Read(in)
//	err = b.Write(files, "/var/lib/fettle-hub")
//	err = saver.Load(ctx) // when the restored hub starts, before it serves
//
// A file or an entry that does not exist is not in a backup. A backup may be repeated at any time. An
// interrupted Write leaves a directory without hub.json, which is not a hub. An interrupted Load starts
// again from the beginning when the hub starts again.
package backup

import "fettle.dev/fettle/internal/fleet/document"

// Format is the only format of backups that Read reads and Write writes.
const Format = "fettle.hubbackup/1"

// Backup contains everything that a hub cannot create again: keys, settings and the state that hubs
// share. It contains the private key of the fleet CA and must be kept as secret as that key.
//
// Assignments, reports, content and views are not included. Hubs create them again from the
// repository and from the reports of agents.
type Backup struct {
	Format string            `json:"format"`
	Files  map[string]File   `json:"files"` // by their path in the directory of the hub
	State  document.HubState `json:"state"`
}

// File is a file of the directory of a hub.
type File struct {
	Data       []byte `json:"data"`
	Executable bool   `json:"program,omitempty"`
}

// restoreFile contains the state of a backup until the restored hub has loaded it into its store.
const restoreFile = "restore.json"
