package compile_test

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/repo"
)

// TestWrongQueries: an error of a gate that the hub queries names its line.
func TestWrongQueries(t *testing.T) {
	for text, want := range map[string]string{
		"metric: url=http://x query=up max=1 token=t":              "use a url with https",
		"metric: url=http://127.0.0.1:9090 query=up max=1 token=t": "",
		"metric: url=http://localhost query=up max=1 token=t":      "",
		"metric: url=https://x query=up max=1 token=t":             "",
		"webhook: token=t":                                                    `no attribute "token"`,
		"webhook: initial_delay=1h timeout=1h":                                "can never pass within its timeout",
		"webhook: initial_delay=1h timeout=2h":                                "",
		"metric: url=https://x query=up max=1 count=3 interval=1m timeout=2m": "can never pass within its timeout",
	} {
		gate, settings, _ := strings.Cut(text, ":")
		lines := gate + " \"a\" {\n"
		for _, a := range strings.Fields(settings) {
			name, value, _ := strings.Cut(a, "=")
			lines += name + " = \"" + value + "\"\n"
		}
		_, ds := compile.Strategies(repo.MapTree(map[string]string{
			"fettle.hcl": "rollout \"r\" {\n wave \"w\" {\n size = 1\n" + lines + "}\n}\n wave \"rest\" {}\n}\n"}))
		err := ds.Err()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "fettle.hcl:")) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
