package compile_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/lang/source"
)

// TestResourceOfTerraform: the form of another tool leads to that of fettle.
func TestResourceOfTerraform(t *testing.T) {
	tree := source.FSTree(fstest.MapFS{"fettle.hcl": {Data: []byte("resource \"file\" \"motd\" {}\n")}})
	_, ds := compile.Compile(compile.Input{Tree: tree, Target: "local"})
	if len(ds) != 1 || !strings.Contains(ds[0].Detail, `Write file "motd" { … }.`) {
		t.Errorf("%v", ds)
	}
}
