package local

import (
	"os"
	"testing"
)

// A program that has shed its pages continues to work.
func TestShed(t *testing.T) {
	before, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := Shed(); err != nil {
			t.Fatal(err)
		}
	}
	if after, err := os.ReadFile("/proc/self/maps"); err != nil || len(after) == 0 || len(before) == 0 {
		t.Error(err)
	}
}

func TestReadOnly(t *testing.T) {
	for line, want := range map[string]bool{
		"00400000-01c1e000 r-xp 00000000 fe:00 1234  /usr/bin/fettle":           true,
		"01c1e000-03b00000 r--p 0181e000 fe:00 1234  /usr/bin/fettle":           true,
		"01c1e000-03b00000 r--p 0181e000 fe:00 1234  /usr/bin/fettle (deleted)": false,
		"03b00000-03c00000 rw-p 03700000 fe:00 1234  /usr/bin/fettle":           false,
		"03b00000-03c00000 r--s 03700000 fe:00 1234  /usr/bin/fettle":           false,
		"7f0000000000-7f0000001000 r--p 00000000 fe:00 9  /etc/other":           false,
		"7ffd0000-7ffd1000 r-xp 00000000 00:00 0  [vdso]":                       false,
		"": false,
	} {
		if _, size, ok := readOnly(line, "/usr/bin/fettle"); ok != want || ok && size == 0 {
			t.Errorf("%q: %v", line, ok)
		}
	}
}
