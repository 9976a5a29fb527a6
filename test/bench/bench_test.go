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
)

// invented is a small result without any measuring.
func invented() *bench {
	b := &bench{
		settings: settings{sizes: []int{100, 1000}, rounds: 3, slow: 5 * time.Second},
		tools:    []tool{{name: "limit"}, {name: baseline}, {name: "other <&>"}},
		results:  map[cell][]sample{}, broken: map[cell]string{},
	}
	for k, t := range b.tools {
		for _, n := range b.sizes {
			for r := range 3 {
				d := time.Duration((k+1)*n*(r+1)) * time.Millisecond
				c := cell{noChange, t.name, n}
				b.results[c] = append(b.results[c], sample{round: r, wall: d, cpu: d / 2, rss: 10 << 20})
			}
		}
	}
	b.broken[cell{noChange, "other <&>", 100}] = "it left something else"
	b.start = []sample{{wall: time.Millisecond, rss: 9 << 20}}
	return b
}

func TestTable(t *testing.T) {
	want := `work       files  tool              wall s      min–max  CPU s  peak MiB  × limit  × fettle, one tree  

no change    100  limit              0.200  0.100–0.300  0.100        10     1.00                0.50  
no change    100  fettle, one tree   0.400  0.200–0.600  0.200        10     2.00                1.00  
no change    100  other <&>              —                                                             

no change  1,000  limit              2.000  1.000–3.000  1.000        10     1.00                0.50  
no change  1,000  fettle, one tree   4.000  2.000–6.000  2.000        10     2.00                1.00  
no change  1,000  other <&>          6.000  3.000–9.000  3.000        10     3.00                1.50  
`
	if got := invented().table(plain); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestSlowToolsAreMeasuredOnce(t *testing.T) {
	b := invented()
	other := tool{name: "other <&>", onceIfSlow: true}
	if b.isSlow(other, 1000) {
		t.Error("slow before a whole round was measured")
	}
	b.results[cell{repair, "other <&>", 1000}] = []sample{{wall: time.Second}}
	if !b.isSlow(other, 1000) {
		t.Error("a run of 9 s counts as fast")
	}
	if other.onceIfSlow = false; b.isSlow(other, 1000) {
		t.Error("rounds are left out of what others are compared with")
	}
	other.onceIfSlow = true
	if b.isSlow(other, 100) {
		t.Error("slow with other numbers of files")
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
	if circles != 5 {
		t.Errorf("%d points, want one for each of the 5 figures", circles)
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
	for _, w := range works() {
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
