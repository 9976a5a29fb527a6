package outside

import (
	"slices"
	"strconv"
	"strings"
)

// chooseVersion returns the selected tag: NAME/VERSION or VERSION if it exists, otherwise the given
// branch or commit. Without a version it returns the highest tag of the module, otherwise of the
// repository, otherwise "".
func chooseVersion(tags []string, name, version string) string {
	if version != "" {
		for _, t := range []string{name + "/" + version, version} {
			if slices.Contains(tags, t) {
				return t
			}
		}
		return version
	}
	for _, prefix := range []string{name + "/v", "v"} {
		best, high := "", []int(nil)
		for _, t := range tags {
			if n := versionNumbers(t, prefix); n != nil && slices.Compare(n, high) > 0 {
				best, high = t, n
			}
		}
		if best != "" {
			return best
		}
	}
	return ""
}

// versionNumbers returns the numbers of v1.2.3; nil for other texts and for prereleases such as
// v2.0.0-rc1.
func versionNumbers(tag, prefix string) []int {
	text, ok := strings.CutPrefix(tag, prefix)
	if !ok {
		return nil
	}
	var out []int
	for part := range strings.SplitSeq(text, ".") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return nil
		}
		out = append(out, n)
	}
	return out
}
