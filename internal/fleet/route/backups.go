package route

import (
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

func ofBackups() []Row { return []Row{Check().Row, SaveState().Row, BackupSaved().Row} }

// Check examines the hub. It may take some seconds.
func Check() (r Route[None, None, document.HubCheck]) {
	return r.get(access.Read, "/v1/check", "Check the hub thoroughly")
}

// SaveState returns the data that hubs share.
func SaveState() (r Route[None, document.ReasonRequest, document.HubState]) {
	return r.post(access.Admin, "/v1/backup", "Export the data that hubs share, for a backup")
}

// BackupSaved records that the result of SaveState is stored.
func BackupSaved() (r Route[None, document.BackupSaved, document.Done]) {
	return r.post(access.Admin, "/v1/backup/saved", "Record that a backup is stored")
}
