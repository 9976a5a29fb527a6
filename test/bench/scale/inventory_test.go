package scale_test

import (
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/test/bench/scale"
)

// BenchmarkInventory looks at 10,000 targets that are reached by ssh, in a
// repository that is read already.
func BenchmarkInventory(b *testing.B) {
	files, err := scale.Files(company, 10_000)
	if err != nil {
		b.Fatal(err)
	}
	files["ssh.hcl"] = "ssh {\n  user = \"admin\"\n  sudo = true\n  host = \"${target.name}.example.org\"\n  options = { ProxyJump = \"bastion-${target.labels.site}\" }\n}\n"
	r := compile.Open(repo.MapTree(files))
	b.ReportAllocs()
	for b.Loop() {
		if list, ds := r.Targets(); len(ds) > 0 || len(list) != 10_000 {
			b.Fatal(len(list), ds)
		}
	}
}
