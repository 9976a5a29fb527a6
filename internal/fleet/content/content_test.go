package content_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/repo"
)

func Example() {
	whole := repo.MapTree(map[string]string{
		"fettle.hcl":             "target \"web1\" {}\n",
		"modules/web/module.hcl": "package \"nginx\" {}\n",
	})
	parts, _ := content.Parts(whole)
	trees := map[string]repo.Tree{}
	for _, part := range parts {
		var b bytes.Buffer
		info, _ := content.Pack(&b, whole, part)
		bundle, _ := content.Parse(bytes.NewReader(b.Bytes()), info.Size)
		trees[part] = bundle.Tree()
	}
	top := trees[content.RootBundle]
	delete(trees, content.RootBundle)
	composed, _ := content.Compose(top, trees, nil)
	a, _ := repo.TreeDigest(whole)
	b, _ := repo.TreeDigest(composed)
	fmt.Println(parts, a == b)
	enrolled, _ := content.Compose(top, trees, fleet.EnrolledTargets{"web2": {Labels: map[string]string{"env": "prod"}}})
	text, _ := enrolled.ReadFile(fleet.EnrolledFile)
	fmt.Println(strings.Join(strings.Fields(string(text)), ""))
	// Output:
	// [ modules/web] true
	// {"enrolled":{"web2":{"labels":{"env":"prod"}}}}
}

// pack returns the bytes of a part.
func pack(t testing.TB, tree repo.Tree, part string) ([]byte, fleet.Bundle) {
	t.Helper()
	var b bytes.Buffer
	info, err := content.Pack(&b, tree, part)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), info
}

func parse(t testing.TB, b []byte) *content.Bundle {
	t.Helper()
	out, err := content.Parse(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return out
}
