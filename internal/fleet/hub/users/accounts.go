// Package users contains the users of a fleet, their logins, and the tokens with which hosts join.
//
//	a := users.Accounts{Config: users.Config{Fleet: "acme", Records: table, Keys: keys, Now: time.Now, …}}
//	err := a.SetUser(ctx, by, document.UserRequest{Name: "kim", Roles: []string{"read"}})
//	login, err := a.CreateLogin(ctx, by, "kim", document.LoginRequest{})
package users

import (
	"time"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/pki"
)

// Config contains what Accounts need of their hub.
type Config struct {
	Fleet string // the name of the fleet
	// URL is the address of this hub, such as https://hub.example.org:7440.
	URL string
	Now func() time.Time
	// Keep is the time for which unusable tokens stay.
	Keep    time.Duration
	Records *records.Table
	Keys    *pki.Hub
	// CheckHubToken returns a refusal if this hub cannot create a token for a new hub.
	CheckHubToken func(document.TokenRequest) error
}

// Accounts contains the users, logins and tokens of a fleet. It is safe for concurrent use and has no
// lock: the records change by compare-and-set.
type Accounts struct{ Config }
