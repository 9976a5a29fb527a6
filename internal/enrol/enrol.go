// Package enrol makes a host a target of a fleet, over any connection that runs commands and copies
// files. It installs fettle, enrols the host with a token of its own, starts the agent, and waits until
// the agent connects to the hub:
//
//	binary, err := enrol.Binary()
//	f := enrol.Fleet{Hub: enrol.HubOf(client), URL: "https://hub:7440", Install: binary, Within: time.Minute}
//	result, err := f.Enrol(ctx, enrol.Host{Name: "web1", Labels: labels, Arch: "amd64", Access: executor})
//
// Each step first checks the present state, so an enrolment that was interrupted continues when it is
// started again. A host that is a target of the fleet keeps its identity and its labels.
package enrol

import (
	"context"
	"io"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// Fleet is the fleet that hosts join, and how they join it. Its methods can be called at the same time for
// different hosts.
type Fleet struct {
	Hub     Hub
	URL     string        // of the hub, as targets reach it
	Install Program       // on hosts without fettle
	Within  time.Duration // for the agent of a host to connect to the hub
	// Adopt lets the agent replace the applied state of another repository or target.
	Adopt bool
}

// Hub is a hub as an admin of the fleet uses it. HubOf makes one of a client.
type Hub interface {
	CreateToken(ctx context.Context, r document.TokenRequest) (document.NewToken, error)
	RevokeToken(ctx context.Context, id string) error
	// Target returns a target. client.Missing reports whether the error says that it does not exist.
	Target(ctx context.Context, id fleet.TargetID) (document.TargetDetail, error)
}

// Host is the host to enrol.
type Host struct {
	Name   string            // as a target
	Labels map[string]string // as a target
	Arch   string            // Go's name of the architecture, "" if it is unknown
	Access Access
	// Options are the options of all commands on the host.
	Options executor.Options
}

// Access is the part of an executor that an enrolment needs. See executor.Commander and executor.Files.
type Access interface {
	Command(ctx context.Context, c executor.Command, o executor.Options,
		show func(executor.Output)) (*executor.CommandResult, error)
	Put(ctx context.Context, f executor.File, from func() (io.ReadCloser, error),
		o executor.Options) (*executor.PutResult, error)
}

// Result tells how the host became a target. The zero value means that it was a target before, and that
// nothing changed.
type Result struct {
	New       bool   // the host was not a target of the fleet
	Installed bool   // the program on the host changed
	Adopted   bool   // the agent of a host that was a target before replaces the applied state
	With      string // the installed program, for users
	Name      string // of the target at the hub
}

// Changed reports whether the enrolment changed the host.
func (r Result) Changed() bool { return r.New || r.Installed || r.Adopted }

// String describes the result in a few words.
func (r Result) String() string {
	switch {
	case r.New:
		return "enrolled with " + r.With
	case r.Installed:
		return "enrolled before; its binary is newer now with " + r.With
	case r.Adopted:
		return "enrolled before; its agent replaces the applied state"
	}
	return "enrolled before, as " + r.Name
}

// enrolment is the enrolment of one host.
type enrolment struct {
	Fleet
	Result
	host Host
}
