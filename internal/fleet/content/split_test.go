package content

import (
	"strings"
	"testing"
)

// TestSignedCommandsHaveABound: the limit is 64 MiB with the signature, which begins at the last
// possible line.
func TestSignedCommandsHaveABound(t *testing.T) {
	for size, good := range map[int]bool{64 << 20: true, 64<<20 + 1: false} {
		if _, _, err := splitCommand(strings.Repeat("x", size-len(armorBegin)) + armorBegin); (err == nil) != good {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	text, armor, err := splitCommand("a" + armorBegin + "b" + armorBegin + "c")
	if err != nil || text != "a"+armorBegin+"b" || armor != armorBegin+"c" {
		t.Errorf("%q, %q, %v", text, armor, err)
	}
}
