package commands

import (
	"strings"
	"testing"
)

// TestDocumentPage converts each element of a document.
func TestDocumentPage(t *testing.T) {
	got := documentPage("fettle-x",
		"# The `x`\n\nA **bold** [link](y.md#z)\nand `a-*b*`.\n.dot *so so*\n\n## Part one\n\n### Below\n\n- one\n  more\n- two\n\n| key | value |\n|---|---|\n| `a` | b \\| c | d |\n\n```sh\n.raw -x\n```\n\n<!-- mark -->\n")
	want := `.TH FETTLE\-X 7 "" fettle "fettle manual"
.SH NAME
fettle\-x \- The ` + "`x`" + `
.SH DESCRIPTION
.PP
A \fBbold\fR link and \fBa\-*b*\fR. .dot \fIso so\fR
.SH PART ONE
.SS Below
.IP \(bu 2
one more
.IP \(bu 2
two
.TP
key
value
.TP
\fBa\fR
b | c; d
.PP
.nf
\&.raw \-x
.fi
`
	if have, _, _ := strings.Cut(got, ".SH SEE ALSO"); have != want {
		t.Errorf("the page is\n%s\nwant\n%s", have, want)
	}
}
