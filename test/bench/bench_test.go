package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/test/bench/machine"
)

// invented is a small result without any measuring.
func invented() *bench {
	b := newBench(settings{sizes: []int{100, 1000}, rounds: 3, once: 100_000, slow: 5 * time.Second}, "")
	f := field{name: "files", title: "files", works: []work{noChange, coldList}, sizes: b.sizes, rounds: 3,
		tools: []tool{{name: "other <&>"}, {name: fettleTree}, {name: limitName}}}
	b.fields = []field{f}
	for k, t := range []string{limitName, fettleTree, "other <&>"} {
		for _, n := range b.sizes {
			for r := range 3 {
				d := time.Duration((k+1)*n*(r+1)) * time.Millisecond
				c := cell{noChange, t, n}
				b.results[c] = append(b.results[c], sample{round: r, wall: d, cpu: d / 2, rss: 10 << 20})
			}
		}
	}
	b.results[cell{coldList, fettleTree, 100}] = []sample{{round: 1, wall: time.Second, cpu: time.Second, rss: 20 << 20}}
	b.broken[cell{noChange, "other <&>", 100}] = "it left something else"
	return b
}

// TestRows: by number, the fastest first, and those without a figure last.
func TestRows(t *testing.T) {
	want := `number  tool              wall s      min–max  CPU s  peak MiB  × limit  × fettle, one tree  

   100  limit              0.200  0.100–0.300  0.100        10     1.00                0.50  
   100  fettle, one tree   0.400  0.200–0.600  0.200        10     2.00                1.00  
   100  other <&>              —                                                             

 1,000  limit              2.000  1.000–3.000  1.000        10     1.00                0.50  
 1,000  fettle, one tree   4.000  2.000–6.000  2.000        10     2.00                1.00  
 1,000  other <&>          6.000  3.000–9.000  3.000        10     3.00                1.50  
`
	b := invented()
	if got := plainTable(b.rows(noChange)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if rows := b.rows(repair); rows != nil {
		t.Errorf("a table of what was not measured: %q", rows)
	}
}

// TestListRows: the list that is compiled again is beside the one from the cache,
// with a ratio of the same round and a sign for missing rounds.
func TestListRows(t *testing.T) {
	want := `number  tool                              wall s      min–max  CPU s  peak MiB  × from the cache  

   100  fettle, one tree: from the cache   0.400  0.200–0.600  0.200        10              1.00  
   100  fettle, one tree: compiled again  1.000†  1.000–1.000  1.000        20              2.50  
`
	if got := plainTable(invented().rows(coldList)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestReport(t *testing.T) {
	got := report(invented(), []machine.Fact{{Name: "date", Value: "2026-01-31"}})
	for _, want := range []string{"## No change\n", "| number | tool |", "|--:|---|--:|", "1.000†",
		"- date: 2026-01-31\n", "or there are 100,000 files"} {
		if !strings.Contains(got, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	for _, w := range works() {
		if title, text := about(w); title == string(w) || text == "" {
			t.Errorf("nothing is said of %q", w)
		}
	}
}

func TestSlowToolsAreMeasuredOnce(t *testing.T) {
	b := invented()
	f, other := b.fields[0], tool{name: "other <&>", onceIfSlow: true}
	if b.isSlow(f, other, 1000, 1) {
		t.Error("a run of 3 s in the round before counts as slow")
	}
	if !b.isSlow(f, other, 1000, 3) {
		t.Error("a run of 9 s counts as fast")
	}
	if other.onceIfSlow = false; b.isSlow(f, other, 1000, 3) {
		t.Error("rounds are left out of what others are compared with")
	}
	other.onceIfSlow = true
	if b.isSlow(f, other, 100, 3) {
		t.Error("slow with other numbers of files")
	}
}

func TestFlags(t *testing.T) {
	s, err := parseFlags([]string{"-works", "^no change$", "-tools", "limit|one tree", "-sizes", "1000"})
	if err != nil {
		t.Fatal(err)
	}
	if s.out != "" {
		t.Error("a part of the works would be the report")
	}
	f := s.part(filesField(s, peers{cfengine: true}))
	if len(f.works) != 1 || len(f.tools) != 2 || len(f.sizes) != 1 {
		t.Errorf("the part has %d works, %d tools and %d sizes", len(f.works), len(f.tools), len(f.sizes))
	}
	if f = s.part(startField(s, peers{})); f.sizes != nil {
		t.Error("a field that nobody asks for is measured")
	}
	for _, bad := range [][]string{{"-sizes", "99"}, {"-sizes", "100001"}, {"-rounds", "0"}, {"-works", "("},
		{"-tools", "["}, {"more"}} {
		if _, err := parseFlags(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// TestPlotIsXML reads the plot back, with its points.
func TestPlotIsXML(t *testing.T) {
	d := xml.NewDecoder(strings.NewReader(plot(invented())))
	circles := 0
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := tok.(xml.StartElement); ok && e.Name.Local == "circle" {
			circles++
		}
	}
	if circles != 6 {
		t.Errorf("%d points, want one for each of the 6 figures", circles)
	}
}

func TestCheckTree(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tree")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(writeTree(dir, 200))
	must(checkTree(dir, 200))
	must(damageTree(dir, 200))
	if checkTree(dir, 200) == nil {
		t.Error("other content passes")
	}
	must(healTree(dir, 200))
	must(os.Chmod(filepath.Join(dir, name(7)), 0o600))
	if checkTree(dir, 200) == nil {
		t.Error("another mode passes")
	}
	must(os.Chmod(filepath.Join(dir, name(7)), 0o644))
	must(os.WriteFile(filepath.Join(dir, "d000/more"), nil, 0o644))
	if checkTree(dir, 200) == nil {
		t.Error("a file too many passes")
	}
	must(os.Remove(filepath.Join(dir, "d000/more")))
	must(os.Remove(filepath.Join(dir, name(7))))
	if checkTree(dir, 200) == nil {
		t.Error("a file too few passes")
	}
}

// TestLimit: what the others are compared with does the work itself.
func TestLimit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	for _, w := range []work{firstApply, noChange, verifyAll, repair} {
		if w == repair {
			if err := damageTree(dir, 200); err != nil {
				t.Fatal(err)
			}
		}
		if err := limitMain([]string{string(w), dir, "200"}); err != nil {
			t.Fatalf("%s: %v", w, err)
		}
		if err := checkTree(dir, 200); err != nil {
			t.Errorf("%s: %v", w, err)
		}
	}
}

// TestAside: a first apply begins with nothing, and nothing is deleted for it.
func TestAside(t *testing.T) {
	b := newBench(settings{}, t.TempDir())
	p := filesField(settings{}, peers{}).place(b.base, 100, 0)
	old := filepath.Join(p.live, "state/old")
	if err := os.MkdirAll(old, 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := b.reset(p); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("the state of the run before is still there")
	}
	if _, err := os.Stat(filepath.Join(b.base, "trash/1/state/old")); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(filepath.Dir(p.dest)); err != nil || len(entries) > 0 {
		t.Errorf("%d entries, %v", len(entries), err)
	}
}

// TestBefore: whichever works are left out, one begins with what it says.
func TestBefore(t *testing.T) {
	var did []string
	note := func(p place, w work) []string { did = append(did, string(w)); return []string{"true"} }
	for _, c := range []struct {
		w, last work
		settles bool
		want    string
	}{
		{firstApply, "", true, ""},
		{noChange, "", true, "first apply, no change"},
		{noChange, "", false, "first apply"},
		{noChange, coldList, true, ""},
		{noChange, repair, true, "no change"},
		{coldList, firstApply, true, ""},
		{verifyAll, noChange, true, ""},
		{repair, firstApply, true, "no change"},
		{mixedHost, "", true, "first apply, no change"},
		{startEnd, "", false, ""},
	} {
		b := newBench(settings{}, t.TempDir())
		p := filesField(settings{}, peers{}).place(b.base, 100, 0)
		if err := writeTree(p.dest, 100); err != nil {
			t.Fatal(err)
		}
		b.last[p.dir] = c.last
		b.run = func(t tool, p place, argv []string) (sample, error) { return sample{}, writeTree(p.dest, 100) }
		did = nil
		if err := b.before(tool{settles: c.settles, command: note}, p, c.w); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(did, ", "); got != c.want {
			t.Errorf("before %q after %q: %q, want %q", c.w, c.last, got, c.want)
		}
		if wrong := checkTree(p.dest, 100) != nil; wrong != (c.w == repair || c.w == firstApply) {
			t.Errorf("before %q: the tree is damaged or gone: %t", c.w, wrong)
		}
	}
}

// TestFailedToolStops: a run that fails costs its own figures and no others.
func TestFailedToolStops(t *testing.T) {
	b := newBench(settings{rounds: 2, once: 1000, within: time.Hour}, t.TempDir())
	ran := map[string]int{}
	b.run = func(t tool, p place, _ []string) (sample, error) {
		if ran[t.name]++; t.name == "breaks" {
			return sample{}, errors.New("exit status 1")
		}
		return sample{wall: time.Second}, writeTree(p.dest, p.n)
	}
	f := filesField(settings{sizes: []int{100}, rounds: 2}, peers{})
	f.tools = nil
	for _, name := range []string{"works", "breaks"} {
		f.tools = append(f.tools, tool{name: name, prepare: func(place) error { return nil },
			command: func(_ place, w work) []string { return []string{string(w)} }})
	}
	b.fields = []field{f}
	if err := b.size(f, 100); err != nil {
		t.Fatal(err)
	}
	if ran["breaks"] != 1 || ran["works"] != 10 {
		t.Errorf("%v runs", ran)
	}
	if len(b.notes) != 1 || !strings.Contains(b.notes[0], "breaks, first apply, 100 files: no figure: exit status 1") {
		t.Errorf("%q", b.notes)
	}
	if got := len(b.results[cell{repair, "works", 100}]); got != 2 {
		t.Errorf("%d figures of the other", got)
	}
}
