package apt

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/host"
)

// aptOutput is what apt-get install of Debian 12 prints with -q.
const aptOutput = `Reading package lists...
The following NEW packages will be installed:
  hello libx
Need to get 58.4 kB of archives.
Get:1 http://deb.debian.org/debian bookworm/main amd64 hello amd64 2.10-3 [52.9 kB]
Get:2 http://deb.debian.org/debian bookworm/main amd64 libx all 1 [527 B]
Fetched 58.4 kB in 0s (1,234 kB/s)
Selecting previously unselected package hello.
Preparing to unpack .../hello_2.10-3_amd64.deb ...
Unpacking hello (2.10-3) ...
Setting up hello (2.10-3) ...
Processing triggers for man-db (2.11.2-2) ...
`

func steps(watch func(bool, []byte), parts ...string) {
	for _, p := range parts {
		watch(false, []byte(p))
	}
}

func TestAptProgress(t *testing.T) {
	var got []string
	steps(aptWatch(func(p host.Progress) { got = append(got, p.Text) }), aptOutput)
	want := []string{"downloading hello, 52.9 kB", "downloading libx, 527 B", "downloaded 58.4 kB",
		"unpacking hello (2.10-3)", "setting up hello (2.10-3)",
		"processing triggers for man-db (2.11.2-2)"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestAptProgressInParts: the output can arrive in any parts, and errors of apt are not progress.
func TestAptProgressInParts(t *testing.T) {
	var want []string
	steps(aptWatch(func(p host.Progress) { want = append(want, p.Text) }), aptOutput)
	rapid.Check(t, func(t *rapid.T) {
		var got []string
		watch := aptWatch(func(p host.Progress) { got = append(got, p.Text) })
		for rest := aptOutput; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			watch(false, []byte(rest[:n]))
			watch(true, []byte("Setting up nothing\n"))
			rest = rest[n:]
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got  %q\nwant %q", got, want)
		}
	})
}

func TestAptProgressOfLongLines(t *testing.T) {
	var got []string
	watch := aptWatch(func(p host.Progress) { got = append(got, p.Text) })
	steps(watch, "Setting up ", strings.Repeat("x", 5000), strings.Repeat("y", 5000), "\n", "Setting up b\n",
		"Removing\n", "\n")
	if len(got) != 2 || len(got[0]) > maxProgressLine || got[1] != "setting up b" {
		t.Errorf("%d: %.40q", len(got), got)
	}
}
