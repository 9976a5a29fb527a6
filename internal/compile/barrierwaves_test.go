package compile_test

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/repo"
)

// TestBarrierInWaves: a warning names a barrier whose members may get a change one after another.
func TestBarrierInWaves(t *testing.T) {
	const targets = `
target "db1" { labels = { role = "db" } }
target "db2" { labels = { role = "db" } }
target "db3" { labels = { role = "db" } }
target "web1" {}
`
	use := "policy {\n  rollout = \"r\"\n}\n"
	barrier := "barrier \"b\" {\n  labels = { role = \"db\" }\n}\n"
	for name, c := range map[string]struct{ text, want string }{
		"no barrier":  {"", ""},
		"default":     {barrier, "needs 3 members at the same time, .* the strategy careful has several waves"},
		"one arrival": {strings.Replace(barrier, "}\n}", "}\n  quorum = 1\n}", 1), ""},
		"a third":     {strings.Replace(barrier, "}\n}", "}\n  quorum = \"33%\"\n}", 1), ""},
		"two thirds":  {strings.Replace(barrier, "}\n}", "}\n  quorum = \"34%\"\n}", 1), "needs 2 members"},
		"no member":   {"barrier \"b\" {\n  targets = [\"x*\"]\n}\n", ""},
		"one member":  {"barrier \"b\" {\n  targets = [\"db1\"]\n}\n", ""},
		"cannot open": {"barrier \"b\" {\n  targets = [\"db1\"]\n  quorum = 2\n}\n", ""},
		"at once":     {barrier + strings.Replace(use, `"r"`, `"at-once"`, 1), ""},
		"different": {barrier + "target \"db4\" {\n  labels = { role = \"db\" }\n  policy { rollout = \"at-once\" }\n}\n",
			"db1 and db4 have different strategies"},
		"one wave":      {barrier + use + wave("w", `max_unavailable = 3`), ""},
		"all at once":   {barrier + use + wave("w", `max_unavailable = "100%"`), ""},
		"two at a time": {barrier + use + wave("w", `max_unavailable = 2`), "permits 2 at the same time"},
		"by default":    {barrier + use + wave("w", ``), "permits 1 at the same time"},
		"size": {barrier + use + wave("w", `size = 1`, "x", `max_unavailable = 3`),
			"the wave w of the strategy r has a size"},
		"other first":    {barrier + use + wave("w", `targets = ["web*"]`, "x", `max_unavailable = 3`), ""},
		"size of others": {barrier + use + wave("w", "targets = [\"web*\"]\nsize = 1", "x", `max_unavailable = 3`), ""},
		"one first": {barrier + use + wave("w", `targets = ["db1"]`, "x", `max_unavailable = 3`),
			"only 1 of them are in the wave w"},
		"own wave": {barrier + use + wave("w", "labels = { role = \"db\" }\nmax_unavailable = \"100%\"", "x", ""), ""},
	} {
		_, ds := compile.Waits(repo.MapTree(map[string]string{"fettle.hcl": targets + c.text}))
		got := shown(ds)
		if ds.HasErrors() || (c.want == "") != (len(ds) == 0) {
			t.Errorf("%s: %s", name, got)
			continue
		}
		for _, part := range strings.Split(c.want, ".*") {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %s, want %s", name, got, part)
			}
		}
	}
}

// wave returns a strategy with the name r. Its waves are pairs of a name and attributes.
func wave(pairs ...string) string {
	out := "rollout \"r\" {\n"
	for i := 0; i < len(pairs); i += 2 {
		out += "wave \"" + pairs[i] + "\" {\n" + pairs[i+1] + "\n}\n"
	}
	return out + "}\n"
}
