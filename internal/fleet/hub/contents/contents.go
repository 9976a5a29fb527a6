// Package contents serves the content of assignments: bundles, proofs, binaries of agents, and the
// histories of commits.
//
//	c := contents.New(contents.Config{Hub: "hub1", Store: store, Records: table, Repository: follower, …})
//	go c.Fetch(ctx)
//	mux.Handle(content.Path, c.Server)
//
// Fetch fetches missing content from other hubs, or from the repository, until the hub has it. A
// target gets the same answer for missing content and for the content of other targets. Each
// operation may be repeated: content is named by its digest. An interrupted fetch starts again.
package contents

import (
	"context"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/hub/repository"
	"fettle.dev/fettle/internal/fleet/pki"
)

// Config contains what Contents needs of its hub.
type Config struct {
	Hub  string // the name of the hub
	Now  func() time.Time
	Warn func(text string)

	Store   *content.Store
	Records *records.Table
	// Trust verifies clients, and TLS is the certificate with which this hub fetches content.
	Trust func() (pki.Trust, error)
	TLS   pki.OwnCertificate
	// Trusted returns a target that may have content. IsMember reports whether a hub is in the fleet.
	Trusted  func(context.Context, fleet.TargetID) (fleet.Target, error)
	IsMember func(name string) bool
	// Alone reports whether this hub started without other hubs.
	Alone      func() bool
	Repository *repository.Follower
	// History reads a history; nil means: with git.
	History func(ctx context.Context, dir string, src content.Source, commit string, accepted []string) ([]byte, error)
}

// Contents serves and fetches content. It is safe for concurrent use and has no lock. Server and
// Histories are the handlers of its routes.
type Contents struct {
	Config
	Server    *content.Server
	Histories *content.Histories
	changed   chan struct{} // signals that content may be missing
}
