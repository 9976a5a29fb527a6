package diag_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"fettle.dev/fettle/internal/diag"
)

// Names and values of a repository can have any length; messages about them stay readable.
func TestLongTexts(t *testing.T) {
	long := strings.Repeat("ü", 1<<20)
	args := []any{long, errors.New(long), 7}
	d := diag.Errorf(diag.Range{}, "Bad", "%s and %q and %d.", args...)
	if len(d.Detail) > 3*diag.MaxText || !strings.HasSuffix(d.Detail, " and 7.") || !utf8.ValidString(d.Detail) {
		t.Errorf("%d bytes: %.60s", len(d.Detail), d.Detail)
	}
	if args[0] != any(long) {
		t.Error("the caller's texts have changed")
	}
	if got := diag.Errorf(diag.Range{}, "Bad", "%s", "short").Detail; got != "short" {
		t.Errorf("%q", got)
	}
}
