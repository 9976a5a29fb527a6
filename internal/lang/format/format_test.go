package format_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/lang/format"
)

func ExampleSource() {
	out, _ := format.Source([]byte("a{\nlong=1\nb   =  2\n}\n"), "x.hcl")
	fmt.Print(string(out))
	// Output:
	// a {
	//   long = 1
	//   b    = 2
	// }
}

// The examples in the documentation are in the language, in canonical form.
func TestDocumentationParses(t *testing.T) {
	text, err := os.ReadFile("../../../docs/language.md")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(text), "```hcl\n")
	if len(parts) < 5 {
		t.Fatal("no examples found")
	}
	for _, p := range parts[1:] {
		src, _, _ := strings.Cut(p, "```")
		if _, ds := format.Source([]byte(src), "docs"); ds.HasErrors() {
			t.Errorf("%s\n%v", src, ds)
		}
	}
}
