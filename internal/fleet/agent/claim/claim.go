// Package claim shows to hubs that this host has the newest value that they gave to its target. By
// these claims hubs detect a second host with the same identity; see package clone.
//
//	c := claim.Claimer{Files: files, Dir: "/var/lib/fettle/agent", Link: link, Copy: host, Warn: warn}
//	err := c.Run(ctx, numbered)
//
// In Dir there is
//
//	claim.json    the newest value
//
// There is one claim at a time, and the value of an answer is durable before the next claim. So a
// host never shows a value again after a newer one, whenever its power fails.
package claim

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
)

// How often an agent claims. A process claims at once when it first reaches a hub. After a
// connection was lost it waits, because thousands of agents lose it at the same time.
const (
	every          = time.Hour
	afterReconnect = 10 * time.Minute
	firstRetry     = 10 * time.Second
	askFor         = time.Minute
)

// Claimer makes the claims of one agent. No other process may claim for its directory.
type Claimer struct {
	Files host.FS
	Dir   string
	Link  fleet.Link
	Copy  fleet.Copy // this host, for operators
	Warn  func(text string)

	value    string
	numbered func(seq uint64)
}

// file is the content of claim.json.
type file struct {
	Value string `json:"value"`
}

func (c *Claimer) path() string { return path.Join(c.Dir, "claim.json") }

// load reads the value, and makes it durable: an earlier process may have been killed before it
// did. A missing or damaged file means that there is no value.
func (c *Claimer) load() error {
	text, err := smallfile.Read(c.Files, c.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var f file
	if json.Unmarshal(text, &f) == nil {
		c.value = f.Value
	}
	return c.Files.SyncDir(c.Dir)
}

// Run claims until ctx ends, and calls numbered with the number of the newest report that a hub has.
// It is called once. The error is about the link only.
func (c *Claimer) Run(ctx context.Context, numbered func(seq uint64)) error {
	c.numbered = numbered
	asked := make(chan struct{}, 1)
	err := c.Link.Serve(fleet.MessageClaim, func(context.Context, []byte) ([]byte, error) {
		select {
		case asked <- struct{}{}:
		default: // one claim answers both
		}
		return nil, nil
	})
	if err != nil {
		return fmt.Errorf("cannot accept requests of hubs: %w", err)
	}
	if !c.insist(ctx, c.load) {
		return nil
	}
	ups := make(chan bool, 1)
	c.Link.Changes(func(up bool) {
		select { // only how it is now counts
		case <-ups:
		default:
		}
		ups <- up // it is called from one goroutine at a time
	})
	c.claims(ctx, ups, asked)
	return nil
}

// claims makes each claim when it is due, until ctx ends.
func (c *Claimer) claims(ctx context.Context, ups <-chan bool, asked <-chan struct{}) {
	var s schedule
	process := rand.Text()
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case up := <-ups:
			s.connected(up, time.Now())
		case <-asked:
			s.due = time.Now()
		case <-timer.C:
		}
		if s.up && !s.due.After(time.Now()) {
			s.claimed(c.claim(ctx, process), time.Now())
		}
		timer.Reset(s.wait(time.Now()))
	}
}

// claim makes one claim, and stores the answer.
func (c *Claimer) claim(ctx context.Context, process string) error {
	body, err := json.Marshal(fleet.Claim{Value: c.value, Process: process, Copy: c.Copy})
	if err != nil {
		return err
	}
	asking, cancel := context.WithTimeout(ctx, askFor)
	said, err := c.Link.Ask(asking, fleet.MessageClaim, body)
	cancel()
	var answer fleet.Claimed
	if err == nil {
		err = json.Unmarshal(said, &answer)
	}
	if err != nil || answer.Value == "" {
		return errors.Join(err, errNoValue)
	}
	if c.insist(ctx, func() error { return c.save(answer.Value) }) {
		c.value = answer.Value
		c.numbered(answer.Seq)
	}
	return nil
}

var errNoValue = errors.New("no hub answered the claim")

func (c *Claimer) save(value string) error {
	text, err := json.Marshal(file{value})
	if err == nil {
		err = smallfile.Write(c.Files, c.path(), text)
	}
	return err
}

// insist tries until it succeeds, because after an error either value can be durable. It returns
// false if ctx ended before.
func (c *Claimer) insist(ctx context.Context, try func() error) bool {
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		err := try()
		if err == nil {
			return true
		}
		c.Warn(fmt.Sprintf(
			"cannot store the value that distinguishes this host from a clone; the agent tries again in %s: %v", wait, err))
		select {
		case <-ctx.Done():
			return false
		case <-time.After(wait):
		}
	}
}
