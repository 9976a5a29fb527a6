// Package signed accepts commands that users signed, each of them once.
//
//	m := &signed.Memory{Files: files, Dir: "/var/lib/fettle/agent/commands", Trust: trust}
//	c, by, err := m.Accept(text, func(c content.Command) error { return nil })
//
// The directory contains
//
//	UNTIL-ID   an empty file for each accepted command, until it expires
//	before     all commands that expired until this time are refused, in seconds since 1970
package signed

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"sync"

	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
)

// Bounds of the memory, in commands. Beyond the first one, expired commands are removed.
const (
	tidyFrom = 256
	most     = 10_000
)

const beforeFile = "before"

// Memory remembers the accepted commands of a host until they expire. An entry is durable before
// Accept returns. Its methods may be called from any goroutine, and two processes may use one
// directory: only one of them can create an entry.
type Memory struct {
	Files host.FS
	Dir   string // its parent exists
	// Trust returns the current trust of the host.
	Trust func() (content.CommandTrust, error)

	mu sync.Mutex
}

// Accept returns a signed command if the host may execute it now, and remembers it: a second
// call with the same command fails, also after a restart. by is the principal of the key. check
// can still refuse the command, which is then not remembered.
func (m *Memory) Accept(text string, check func(content.Command) error) (c content.Command, by string, err error) {
	trust, err := m.Trust()
	if err != nil {
		return c, "", err
	}
	if c, by, err = content.VerifyCommand(text, trust); err != nil {
		return content.Command{}, by, err
	}
	if err := check(c); err != nil {
		return content.Command{}, by, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.remember(c, trust.Now); err != nil {
		return content.Command{}, by, err
	}
	return c, by, nil
}

// Release forgets an accepted command that was not executed, and will be tried again.
func (m *Memory) Release(c content.Command) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return smallfile.Remove(m.Files, m.entry(c))
}

func (m *Memory) entry(c content.Command) string {
	return path.Join(m.Dir, fmt.Sprintf("%d-%s", c.Until, c.ID))
}

func (m *Memory) remember(c content.Command, now int64) error {
	before, err := m.before()
	if err == nil && c.Until <= before {
		return errors.New(
			"cannot accept the command: it expired before the clock of this host was set back. Check the clocks of both hosts, " +
				"and sign the command again")
	}
	if err == nil {
		err = smallfile.Directory(m.Files, m.Dir)
	}
	if err == nil {
		err = m.tidy(now)
	}
	if err != nil {
		return fmt.Errorf("cannot record the signed command, so it is not executed: %w", err)
	}
	err = smallfile.Make(m.Files, m.entry(c), nil)
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf(
			"cannot execute the command %s again: this host accepted it before. A signature is valid for one execution. "+
				"Sign the command again", c.ID)
	case err != nil:
		return fmt.Errorf("cannot record the signed command, so it is not executed: %w", err)
	}
	return nil
}

// before is the time until which all commands are refused, 0 at first.
func (m *Memory) before() (int64, error) {
	text, err := smallfile.Read(m.Files, path.Join(m.Dir, beforeFile))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("cannot determine the executed commands: %w", err)
	}
	at, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf(
			"cannot determine the executed commands: %s is damaged. Write the current time into it: date +%%s",
			path.Join(m.Dir, beforeFile))
	}
	return at, nil
}

// tidy removes expired commands if there are many. The time until which they are refused is
// durable first, so that they stay invalid if the clock is set back.
func (m *Memory) tidy(now int64) error {
	names, err := m.Files.ReadDir(m.Dir)
	if err != nil || len(names) < tidyFrom {
		return err
	}
	var expired []string
	newest := int64(0)
	for _, name := range names {
		if until, ok := untilOf(name); ok && until <= now {
			expired, newest = append(expired, name), max(newest, until)
		}
	}
	if len(names)-len(expired) >= most {
		return fmt.Errorf("%d signed commands are still valid, which is the limit. Wait until some of them expire", most)
	}
	if len(expired) == 0 {
		return nil
	}
	before, err := m.before()
	if err == nil {
		err = smallfile.Write(m.Files, path.Join(m.Dir, beforeFile), strconv.AppendInt(nil, max(before, newest), 10))
	}
	for _, name := range expired {
		if err == nil {
			err = m.Files.Remove(path.Join(m.Dir, name))
		}
	}
	return err
}

func untilOf(name string) (until int64, ok bool) {
	text, _, ok := strings.Cut(name, "-")
	if !ok {
		return 0, false
	}
	until, err := strconv.ParseInt(text, 10, 64)
	return until, err == nil
}
