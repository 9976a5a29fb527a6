package local_test

import (
	"os"
	"strings"
	"sync"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/host"
)

// disturbed is a host on which somebody else is at work: just before a file is
// first read, or a temporary is made.
type disturbed struct {
	host.Host
	reads   string // the path whose reading disturbs
	calm    int    // how often it is read before that
	creates bool
	once    sync.Once
	disturb func()
}

func (d *disturbed) Open(p string) (host.File, error) {
	f, err := d.Host.Open(p)
	if err != nil || p != d.reads {
		return f, err
	}
	if d.calm--; d.calm >= 0 {
		return f, nil
	}
	return &disturbedFile{f, d}, nil
}

func (d *disturbed) Create(p string) (host.File, error) {
	if d.creates {
		d.once.Do(d.disturb)
	}
	return d.Host.Create(p)
}

type disturbedFile struct {
	host.File
	d *disturbed
}

func (f *disturbedFile) Read(b []byte) (int, error) {
	n, err := f.File.Read(b)
	f.d.once.Do(f.d.disturb)
	return n, err
}

// disturbedTry applies a list while somebody else writes /srv/f. What that one
// wrote stays, whole, and nothing else is there.
func (m *machine) disturbedTry(d *disturbed, list string) {
	m.t.Helper()
	m.write("/srv/f", strings.Repeat("old", 50_000))
	theirs := strings.Repeat("theirs", 30_000)
	m.wrap = func(h host.Host) host.Host { d.Host = h; return d }
	m.open()
	d.disturb = func() { m.must(os.WriteFile(m.at("/srv/f"), []byte(theirs), 0o644)) }
	r := m.request(list, map[string]string{"a": "A"})
	r.Diffs = false
	_, err := m.x.Apply(m.t.Context(), r, nil, executor.Options{}, nil)
	if err == nil || !strings.Contains(err.Error(), "changed") || !strings.Contains(err.Error(), "/srv/f") {
		m.t.Errorf("%s: %v", list, err)
	}
	m.want("/srv/f", theirs)
	if names, err := os.ReadDir(m.at("/srv")); err != nil || len(names) != 2 {
		m.t.Errorf("%s left %v, %v", list, names, err)
	}
	m.wrap = nil
	m.open()
	m.cycle(list, map[string]string{"a": "A"}, nil)
}

// The plan looks first; what counts is what is kept to be put back.
func trapChangedWhileRead(m *machine) {
	m.disturbedTry(&disturbed{reads: "/srv/f", calm: 1}, "RM /srv/f\n")
}

func trapChangedAfterRead(m *machine) {
	m.disturbedTry(&disturbed{creates: true}, "COPY a /srv/f\n")
	m.disturbedTry(&disturbed{creates: true}, "EDIT /srv/f line=x\n")
}
