package local

import "strings"

// Notes are what a person should know of the last change or repair: the
// configuration files of packages that stay as somebody made them, although the
// package brings others. apt is told to keep them and never asks.
func (p *packages) Notes() []string { return p.notes }

// keptConffiles reads from what dpkg writes which files it did not replace.
func keptConffiles(output []byte) []string {
	var out []string
	file, was := "", ""
	for line := range strings.Lines(string(output)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "Configuration file '"); ok {
			file, was = strings.TrimSuffix(name, "'"), "as it was edited here"
		}
		switch {
		case strings.HasPrefix(line, "==> Deleted "):
			was = "deleted"
		case file != "" && (strings.HasPrefix(line, "==> Keeping old config file") || strings.HasPrefix(line, "==> Using current old file")):
			out = append(out, file+" stays "+was+"; what the package brings is in "+file+".dpkg-dist")
			file = ""
		}
	}
	return out
}
