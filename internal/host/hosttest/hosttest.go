// Package hosttest is the common test suite of all drivers of package host.
//
//	func TestHost(t *testing.T) {
//		hosttest.Run(t, func(t *testing.T) host.Host { return mem.New(mem.Options{}) })
//	}
//
// Each case gets a new, empty host. Traits enable cases with special requirements (another owner, a
// real program).
package hosttest

import (
	"io"
	"testing"

	"fettle.dev/fettle/internal/host"
)

// Traits are the abilities of a driver under test in addition to the contract.
type Traits struct {
	// Owners: files can get any owner, as for root.
	Owners bool
	// Machine returns a host that runs the programs of this host; nil if the driver runs none.
	Machine func(t *testing.T) host.Host
}

// Run runs the whole suite; open makes a new empty host, whose root directory
// may be written to, and cleans it up by t.
func Run(t *testing.T, traits Traits, open func(t *testing.T) host.Host) {
	s := suite{traits: traits, open: open}
	t.Run("Paths", s.paths)
	t.Run("Files", s.files)
	t.Run("Nodes", s.nodes)
	t.Run("Links", s.links)
	t.Run("Names", s.names)
	t.Run("Entries", s.entries)
	t.Run("Rename", s.rename)
	t.Run("Sparse", s.sparse)
	t.Run("Sync", s.sync)
	t.Run("Unsafe", s.unsafe)
	if traits.Machine != nil {
		t.Run("Commands", s.commands)
	}
	t.Run("Lock", s.lock)
	t.Run("Accounts", s.accounts)
}

type suite struct {
	traits Traits
	open   func(t *testing.T) host.Host
}

// must ends the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write makes a file with this content.
func write(t *testing.T, h host.Host, path, content string) {
	t.Helper()
	f, err := h.Create(path)
	must(t, err)
	_, err = f.Write([]byte(content))
	must(t, err)
	must(t, f.Close())
}

// read is the content of a file.
func read(t *testing.T, h host.Host, path string) string {
	t.Helper()
	f, err := h.Open(path)
	must(t, err)
	defer f.Close()
	b, err := io.ReadAll(f)
	must(t, err)
	return string(b)
}

func lstat(t *testing.T, h host.Host, path string) host.Stat {
	t.Helper()
	st, err := h.Lstat(path)
	must(t, err)
	return st
}
