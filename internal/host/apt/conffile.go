package apt

import "strings"

// Notes are messages for users about the last change or repair: modified configuration files that
// were kept although the package has new versions. apt is configured to keep them without a
// question.
func (p *packages) Notes() []string { return p.notes }

// keptConffiles returns the files that dpkg did not replace, according to its output.
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
		case file != "" && (strings.HasPrefix(line, "==> Keeping old config file") ||
			strings.HasPrefix(line, "==> Using current old file")):
			out = append(out, file+" stays "+was+"; the version of the package is in "+file+".dpkg-dist")
			file = ""
		}
	}
	return out
}
