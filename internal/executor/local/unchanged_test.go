package local_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor/local"
	"fettle.dev/fettle/internal/host"
)

// watched counts what is read.
type watched struct {
	host.Host
	lstats, opens, others atomic.Int64
}

func (w *watched) Lstat(p string) (host.Stat, error) {
	if strings.HasPrefix(p, "/t/") {
		w.lstats.Add(1)
	}
	return w.Host.Lstat(p)
}

func (w *watched) Open(p string) (host.File, error) {
	if strings.HasPrefix(p, "/t/") {
		w.opens.Add(1)
	}
	return w.Host.Open(p)
}

func (w *watched) Xattrs(p string) (map[string][]byte, error) {
	w.others.Add(1)
	return w.Host.Xattrs(p)
}

func (w *watched) Attrs(p string) (uint32, error) {
	w.others.Add(1)
	return w.Host.Attrs(p)
}

// TestUnchangedFilesCostOneLstat: looking at a thousand unchanged files is a
// thousand lstats and nothing else.
func TestUnchangedFilesCostOneLstat(t *testing.T) {
	const files = 1000
	w := newWorld(t)
	w.mkdirs("/t")
	eye := &watched{Host: w.h}
	later := func() time.Time { return time.Now().Add(time.Hour) } // nothing is racy
	open := func() {
		var err error
		if w.x, err = local.New(eye, w.state, local.Options{Now: later, Ballast: -1}); err != nil {
			t.Fatal(err)
		}
	}
	open()
	var list strings.Builder
	for i := range files {
		fmt.Fprintf(&list, "COPY 1 /t/f%d\n", i)
	}
	if _, ok := w.applyLawfully(list.String()); !ok {
		t.Fatal("the files were not made")
	}
	for _, what := range []string{"this process", "the next one"} {
		eye.lstats.Store(0)
		eye.opens.Store(0)
		eye.others.Store(0)
		p, err := w.x.Plan(context.Background(), request(t, list.String()))
		if err != nil || !p.Empty() {
			t.Fatal(err, actions(p))
		}
		if l, o, x := eye.lstats.Load(), eye.opens.Load(), eye.others.Load(); l != files || o != 0 || x != 0 {
			t.Errorf("%s looked with %d lstats, %d opens and %d others", what, l, o, x)
		}
		open()
	}
}
