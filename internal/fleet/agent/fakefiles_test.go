package agent_test

import (
	"fmt"
	"maps"
)

var top = map[string]string{"fettle.hcl": "target \"web1\" { modules = [\"base\", \"web\"] }\n"}

func with(files map[string]string, more string) map[string]string {
	out := maps.Clone(files)
	out["fettle.hcl"] += more
	return out
}

func motd(text string) map[string]string {
	return map[string]string{"module.hcl": fmt.Sprintf("file \"/etc/motd\" { content = %q }\n", text)}
}

func issue(text string) map[string]string {
	return map[string]string{"module.hcl": fmt.Sprintf("file \"/etc/issue\" { content = %q }\n", text)}
}
