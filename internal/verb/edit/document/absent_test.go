package document

import (
	"testing"

	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
)

// The recorded image of an absent value describes later additions, also if the step to restore
// wants no value.
func TestAbsentValueGoesBackToWhatWasFound(t *testing.T) {
	for format, texts := range map[string][]string{
		"ini":  {"", "a = 1\n", "[n]\nx = 1\n"},
		"toml": {"", "a = 1\n", "[n]\nx = 1\n"},
		"json": {"", "{\"a\": 1}\n", "{\"n\": {\"x\": 1}}\n"},
		"yaml": {"", "a: 1\n", "n:\n  x: 1\n"},
	} {
		for _, text := range texts {
			d, _ := For(format)
			key, _ := step.SplitKey("n.k")
			found, err := d.Find(text, key, true)
			if err != nil {
				t.Fatal(err)
			}
			found.FileAbsent = text == ""
			after, err := d.Put(text, key, false, image.Region{Present: true, Text: "1"})
			if err != nil {
				t.Fatal(err)
			}
			for _, absent := range []bool{true, false} {
				if back, err := d.Put(after, key, absent, found); err != nil || back != text {
					t.Errorf("%s: %q becomes %q and back %q, %v", format, text, after, back, err)
				}
			}
		}
	}
}
