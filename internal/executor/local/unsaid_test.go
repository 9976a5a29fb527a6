package local_test

import (
	"strings"
	"testing"
)

// TestUnsaidOfADirectory: an owner, group or mode that the list no longer says goes back
// to what was there before fettle, or to the default for a directory that fettle made.
// What others changed since stays.
func TestUnsaidOfADirectory(t *testing.T) {
	const said, less = "MKDIR /t/d owner=www group=www mode=0700\n", "MKDIR /t/d\n"
	for _, c := range []struct {
		name          string
		prepare, hand func(*world)
		want          string
	}{
		{"found", func(w *world) { w.mkdirs("/t/d"); w.chown("/t/d", 1000, 0o751) }, nil, "0751 1000:1000"},
		{"made", nil, nil, "0755 0:0"},
		{"changed by hand", nil, func(w *world) { w.chown("/t/d", 1000, 0o711) }, "0711 1000:1000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.mkdirs("/t")
			if c.prepare != nil {
				c.prepare(w)
			}
			w.applies(said, nil)
			if c.hand != nil {
				c.hand(w)
			}
			for _, list := range []string{less, "COPY 1 /t/x\n" + less} {
				w.applies(list, nil)
				if got := w.look()["/t/d"]; !strings.HasPrefix(got, "dir "+c.want+" ") {
					t.Errorf("%q leaves %s, want %s", list, got, c.want)
				}
			}
		})
	}
}
