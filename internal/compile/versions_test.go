package compile_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/repo"
)

// The tag of a vendored module is its version, unless the module declares one.
func TestTagOfAVendoredModuleIsItsVersion(t *testing.T) {
	for _, tc := range []struct{ tag, text, constraint, want string }{
		{"tls/v2.1.0", "", "~> 2.1", ""},
		{"v2.1.0", "", "< 2", "tls has version 2.1.0 (at modules/tls/module.lock)"},
		{"main", "", ">= 0", "modules/tls declares no version"},
		{"v2.1.0", "version = \"3.0.0\"\n", "~> 3.0", ""},
	} {
		lock := fmt.Sprintf(`{"format": "fettle.module/1", "source": "https://example.org/x", "path": "modules/tls",
			"version": %q, "commit": "9f12c0ffee12", "files": {"m.hcl": "sha256:%x"}}`, tc.tag, sha256.Sum256([]byte(tc.text)))
		_, ds := compile.Open(repo.MapTree(map[string]string{
			"fettle.hcl":              "target \"t\" { modules = [\"tls\", \"web\"] }\n",
			"modules/tls/m.hcl":       tc.text,
			"modules/tls/module.lock": lock,
			"modules/web/m.hcl":       fmt.Sprintf("needs \"tls\" { version = %q }\n", tc.constraint),
		})).Compile(compile.Input{Target: "t"})
		if got := shown(ds); ds.HasErrors() != (tc.want != "") || !strings.Contains(got, tc.want) {
			t.Errorf("tag %s, constraint %s: %s", tc.tag, tc.constraint, got)
		}
	}
}
